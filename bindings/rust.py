"""A crate for Rust: the static library and a safe interface to it."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..emit_c.contract import Contract, Tensor, argument_order
from ..emit_c.symbols import comment_text
from ..ir.program import Program, Role
from ..ir.threads import HIDDEN_WORDS, MOST_THREADS
from ..packages.engine import make_engine

_WORDS = """
    abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen
    if impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true
    try type typeof unsafe unsized use virtual where while yield core std test
"""
_KEYWORDS = frozenset(_WORDS.split())
_ELEMENTS = {
    "float": "f32", "double": "f64", **{f"int{bits}_t": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip


def write_crate(contract: Contract, program: Program, facts: dict[str, object], folder: Path) -> None:
    """Writes ``rust/NAME/`` into ``folder``, which holds the static library."""
    name = crate_name(contract.prefix)
    tensors = [_tensor(tensor) for tensor in contract.tensors]
    order = argument_order(contract, program)
    context = {
        **facts,
        "most_threads": MOST_THREADS,
        "hidden_words": HIDDEN_WORDS,
        "crate": name,
        "contract": contract,
        "tensors": tensors,
        "raw_parameters": [_raw(tensors, len(contract.inputs), position, *each) for position, each in enumerate(order)],
        "calls": [_call(contract, tensors, *each) for each in order],
    }
    engine = make_engine(__package__)
    engine.filters |= {"rust_string": rust_string, "rust_comment": comment_text, "rust_variant": _variant}
    root = folder / "rust" / contract.prefix
    (root / "src").mkdir(parents=True)
    (root / "lib").mkdir()
    for source, path in (("lib.rs", "src/lib.rs"), ("Cargo.toml", "Cargo.toml"), ("build.rs", "build.rs")):
        (root / path).write_text(engine.get_template(source).render(context), encoding="utf-8", newline="\n")
    library = str(facts["static_library"])
    shutil.copyfile(folder / library, root / "lib" / library)


def crate_name(prefix: str) -> str:
    """What the crate is called: not by a keyword, or a crate that is always there."""
    return f"{prefix}_model" if prefix in _KEYWORDS else prefix


def _argument_name(parameter: str) -> str:
    """A parameter of a function: no keyword, and no pattern that means a variant or a constant (``None``, ``Ok``)."""
    return f"{parameter}_" if parameter in _KEYWORDS or parameter[0].isupper() else parameter


def rust_string(text: str) -> str:
    """A string literal."""
    return '"' + "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in text) + '"'


def _tensor(tensor: Tensor) -> dict[str, object]:
    return {
        "facts": tensor,
        "module": f"tensor_{tensor.parameter}",
        "argument": _argument_name(tensor.parameter),
        "element": _ELEMENTS[tensor.c_type],
    }


def _raw(tensors: list[dict[str, object]], inputs: int, position: int, role: Role, number: int) -> str:
    """A parameter as C has it."""
    if role in (Role.POOL, Role.STATE):
        return f"memory_{position}: *mut c_void"
    if role is Role.WEIGHTS:
        return f"weights_{position}: *const c_void"
    if role is Role.THREADS:
        return f"threads_{position}: *const c_void"
    tensor = tensors[number if role is Role.INPUT else inputs + number]
    kind = "const" if role is Role.INPUT else "mut"
    return f"tensor_{position}: *{kind} {tensor['element']}"


def _call(contract: Contract, tensors: list[dict[str, object]], role: Role, number: int) -> str:
    """What the safe function passes for it."""
    if role in (Role.POOL, Role.STATE):
        block = number if role is Role.POOL else len(contract.pools)
        return f"self.memory.block_{block}.0.as_mut_ptr().cast()"
    if role is Role.WEIGHTS:
        return "self.weights.as_ptr().cast()"
    if role is Role.THREADS:
        return "self.threads"
    tensor = tensors[number if role is Role.INPUT else len(contract.inputs) + number]
    return f"{tensor['argument']}.{'as_ptr' if role is Role.INPUT else 'as_mut_ptr'}()"


def _variant(error: str) -> str:
    """``ERROR_NULL`` as ``Null``."""
    return error.removeprefix("ERROR_").title()
