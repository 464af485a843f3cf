"""Writes bindings of a model into the folder of its artifact."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

from .. import __version__
from ..emit_c.contract import Contract, Tensor, argument_order, contract_of
from ..emit_c.symbols import LICENCE
from ..errors import CcmlError, ErrorCode
from ..ir.program import Program, Role
from ..ir.threads import HIDDEN_WORDS
from ..ir.types import DType
from ..packages.context import PACKAGE_VERSION
from ..packages.engine import make_engine
from ..targets import Machine
from .java import write_java
from .javascript import write_module
from .languages import CPP, JAVA, JS, NAMES, NEED_LIBRARY, PYTHON, RUST
from .names import cpp_namespace, python_module
from .rust import write_crate

log = logging.getLogger(__name__)


def check_bindings(names: Iterable[str], machines: Iterable[Machine], *, libraries: bool) -> list[str]:
    """The names, each once. Raises ``BAD_OPTION`` for one that there is not, for one that does not go with the target,
    and where ``libraries`` are not written that it needs."""
    found = list(dict.fromkeys(names))
    machines = list(machines)
    for name in found:
        if name not in NAMES:
            raise CcmlError(ErrorCode.BAD_OPTION, f"no bindings for '{name}'", hint=", ".join(NAMES))
        if name in NEED_LIBRARY and not libraries:
            raise CcmlError(ErrorCode.BAD_OPTION, f"bindings for {name} need the library", hint="add lib to --emit")
        for machine in machines:
            fits, hint = _FITS.get(name, (_any, ""))
            if not fits(machine):
                reason = f"bindings for {name} do not go with the target {machine.name} ({machine.abi.name})"
                raise CcmlError(ErrorCode.BAD_OPTION, reason, hint=hint)
    return found


def write_bindings(
    program: Program, machine: Machine, names: Iterable[str], folder: Path, *, linked: Machine | None = None
) -> None:
    """Writes bindings into ``folder``, which holds the artifact: ``NAME.hpp``, ``NAME.mjs``, ``python/NAME/``,
    ``rust/NAME/``, ``java/NAME/``. Where the library has code for several CPUs, that of ``linked`` asks for most.

    Raises ``TOOLCHAIN`` where a library that they load is not there, for want of a linker.
    """
    contract = contract_of(program)
    facts: dict[str, object] = {
        "name": contract.prefix,
        "licence": LICENCE,
        "version": __version__,
        "package_version": PACKAGE_VERSION,
        "target": f"{machine.name} ({machine.abi.name}, {machine.cpu.name})",
        "run": contract.run,
        "reset": contract.reset,
    }
    library = machine.target.library
    files = {
        "static_library": machine.abi.objects.library.format(name=program.owner),
        "library": "" if library is None else library.file.format(name=program.owner),
        "linked_name": program.owner,
    }
    writers = {CPP: _write_cpp, PYTHON: _write_python, RUST: write_crate, JS: write_module}
    for name in names:
        log.info("writing the bindings for %s", name)
        if name == JAVA:
            write_java(contract, program, linked or machine, facts, folder)
        else:
            writers[name](contract, program, {**facts, **files}, folder)


def _any(_: Machine) -> bool:
    return True


def _is_loadable(machine: Machine) -> bool:
    library = machine.target.library
    return machine.target.hosted and library is not None and machine.target.family != "Android"


def _runs_java(machine: Machine) -> bool:
    """Whether a virtual machine of Java runs there that loads the library of a class."""
    return _is_loadable(machine) and machine.abi.desktop


def is_module(machine: Machine) -> bool:
    """Whether what is loaded is a module that calls nothing outside of itself."""
    return machine.abi.architecture == "wasm"


_FITS = {
    PYTHON: (_is_loadable, "--target x86, linux-arm64, windows, apple or generic"),
    JS: (is_module, "--target wasm"),
    JAVA: (_runs_java, "--target x86, linux-arm64, windows, apple (macOS) or generic; for Android --package aar"),
    RUST: (lambda machine: not is_module(machine), "--target of a machine that Rust links for"),
}
"""The targets that bindings go with, and the way out for others."""


def _write_cpp(contract: Contract, program: Program, facts: dict[str, object], folder: Path) -> None:
    names = {
        Role.POOL: lambda number: f"memory_->pool_{number}",
        Role.STATE: lambda number: "memory_->state",
        Role.WEIGHTS: lambda number: "weights_",
        Role.THREADS: lambda number: "threads_",
        Role.INPUT: lambda number: f"{contract.inputs[number].parameter}.{_given(contract.inputs[number])}()",
        Role.OUTPUT: lambda number: f"{contract.outputs[number].parameter}.data()",
    }
    context = {
        **facts,
        "macro": contract.macro,
        "contract": contract,
        "namespace": cpp_namespace(contract.prefix),
        "arguments": [names[role](number) for role, number in argument_order(contract, program)],
    }
    text = make_engine(__package__).get_template("model.hpp").render(context)
    (folder / f"{contract.prefix}.hpp").write_text(text, encoding="utf-8", newline="\n")


def _given(tensor: Tensor) -> str:
    """The method of an argument in C++ that tells what the run function takes."""
    return "data" if tensor.row_axis is None else "rows"


def _write_python(contract: Contract, program: Program, facts: dict[str, object], folder: Path) -> None:
    library = str(facts["library"])
    if not (folder / library).is_file():
        raise CcmlError(ErrorCode.TOOLCHAIN, f"Python needs {library}, which could not be linked", hint="ccml doctor")
    module = python_module(contract.prefix)
    context = {
        **facts,
        "module": module,
        "hidden_words": HIDDEN_WORDS,
        **_python_facts(contract, program),
    }
    engine = make_engine(__package__)
    root = folder / "python" / contract.prefix
    package = root / module
    package.mkdir(parents=True)
    for source, path in (
        ("module.py", package / "__init__.py"),
        ("pyproject.toml", root / "pyproject.toml"),
        ("setup.py", root / "setup.py"),
    ):
        path.write_text(engine.get_template(source).render(context), encoding="utf-8", newline="\n")
    for file in (library, *([contract.weights.file] if contract.weights is not None else [])):
        shutil.copyfile(folder / file, package / file)


def _python_facts(contract: Contract, program: Program) -> dict[str, object]:
    """The tables of the module, as Python's source text."""
    inputs = [tensor for tensor in contract.inputs if not tensor.is_extent]
    outputs = [tensor for tensor in contract.outputs if not tensor.is_extent]
    order = argument_order(contract, program)
    parameters = [_parameter(contract, inputs, role, number) for role, number in order]
    place = {
        tensor.parameter: position
        for position, (role, number) in enumerate(order)
        for tensor in _tensors_of(contract, role)[number : number + 1]
    }
    results = [
        (contract.outputs.index(tensor), {axis.axis: place[axis.parameter] for axis in tensor.axes})
        for tensor in outputs
    ]
    return {
        "inputs": [_row(tensor) for tensor in inputs],
        "outputs": [_row(tensor) for tensor in outputs],
        "contract": contract,
        "memory": repr([(memory.size, memory.align) for memory in contract.memory]),
        "errors": repr({number: f"{contract.macro}_{name}: {meaning}" for name, number, meaning in contract.errors}),
        "parameters": repr(parameters),
        "results": repr(results),
        "rows": repr({number: tensor.row_axis for number, tensor in enumerate(inputs) if tensor.row_axis is not None}),
        "types": repr([(_numpy_name(tensor.dtype), tensor.shape) for tensor in (*inputs, *contract.outputs)]),
    }


def _tensors_of(contract: Contract, role: Role) -> tuple[Tensor, ...]:
    return {Role.INPUT: contract.inputs, Role.OUTPUT: contract.outputs}.get(role, ())


def _parameter(contract: Contract, inputs: list[Tensor], role: Role, number: int) -> tuple[str, object]:
    """What a parameter of the run function is to the module, and which one of its kind."""
    if role is Role.POOL:
        return "memory", number
    if role is Role.STATE:
        return "memory", len(contract.pools)
    if role is Role.WEIGHTS:
        return "weights", number
    if role is Role.THREADS:
        return "threads", number
    if role is Role.OUTPUT:
        return "result", number
    tensor = contract.inputs[number]
    if not tensor.is_extent:
        return "argument", inputs.index(tensor)
    return "extent", [
        (position, axis.axis)
        for position, other in enumerate(inputs)
        for axis in other.axes
        if axis.parameter == tensor.parameter
    ]


def _row(tensor: Tensor) -> list[str]:
    """The fields of a ``Tensor`` of the module."""
    text = tensor.shape[-1] if tensor.dtype is DType.CHAR else 0
    shape = tensor.shape[:-1] if text else tensor.shape
    ranges = {axis.axis: (axis.least, axis.bound) for axis in tensor.axes}
    dtype = "str" if text else _numpy_name(tensor.dtype)
    fields = (tensor.name, dtype, tuple(shape), ranges, tensor.scale, tensor.zero_point, text)
    return [ascii(field) for field in fields]


def _numpy_name(dtype: DType) -> str:
    """NumPy's name of the elements; narrow types are integers with their bits."""
    return "S1" if dtype is DType.CHAR else dtype.stored.numpy.name
