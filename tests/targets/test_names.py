"""No code outside of ``targets/`` names a target, an ABI, a CPU, an architecture or a part of a triple."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import ccml
from ccml.targets import TARGETS

ROOT = Path(ccml.__file__).parent
FOLDERS = {"benchmarks", "build", "docs", "examples", "targets", "tests"}
"""Those that are no part of the compiler, and the data themselves."""

WORDS = {"gnu", "unknown", "none", "elf", "linux", "eabi", "eabihf", "generic", "main", "windows", "macho", "simulator"}
"""Parts of triples and names that are ordinary words, or common to triples of all kinds."""

ALLOWED = {
    "bindings/": "languages and operating systems that a binding is for",
    "blocks/": "rows, which name the CPU extensions that they need",
    "cli/artifact_options.py": "examples, in the help of an option",
    "cli/compile.py": "examples, in the help of an option",
    "cli/main.py": "examples, in the help",
    "cli/new.py": "examples, in the file that it writes",
    "costs/decode": "decoders of one instruction set",
    "costs/helpers.py": "what a table of helpers was measured on",
    "emit_c/guard.py": "macros of C compilers",
    "emit_c/names.py": "names that C compilers define",
    "emit_c/system_headers.py": "names of headers",
    "emit_c/threads.py": "macros of C compilers",
    "emit_llvm/machine_code.py": "what the assembler made, by the names that ABIs give it",
    "emit_llvm/object_file.py": "formats of objects",
    "emit_llvm/wasm.py": "a format of objects",
    "instructions/table.py": "spellings of instructions, by architecture",
    "packages/": "cores, boards and families by the names that ecosystems give them",
    "report/sections.py": "formats of objects",
}
"""Beginnings of paths, and what else than a target is named there."""


def names() -> set[str]:
    """What the data call targets, ABIs, CPUs and architectures."""
    found = set()
    for target in TARGETS:
        found |= {target.name, *target.aliases}
        for abi in target.abis:
            parts = {part for triple in (abi.triple, abi.clang_triple) for part in triple.split("-")}
            found |= {abi.name, abi.machine_code, abi.cross_compile, *parts, *abi.host_architectures}
            found |= {name for cpu in abi.cpus for name in (cpu.name, cpu.llvm_cpu)}
    return {name.lower() for name in found if name} - WORDS


def families(known: set[str]) -> set[str]:
    """The letters that names begin with: ``thumb`` of ``thumbv7em``, ``cortex`` of ``cortex-m4``."""
    stems = {match[0] for name in known if (match := re.match(r"[a-z]{3,}(?=v?[-_\d]|v\d)", name))}
    return {stem.rstrip("v") if stem != "riscv" else stem for stem in stems} - WORDS - {"linux"}


@cache
def sources() -> list[str]:
    """The files of the compiler, below its root, which holds the environments and the work of tools, too."""
    own = [entry for entry in ROOT.iterdir() if entry.name not in FOLDERS and not entry.name.startswith(".")]
    files = [path for entry in own for path in (entry.rglob("*.py") if entry.is_dir() else [entry])]
    return sorted(path.relative_to(ROOT).as_posix() for path in files if path.suffix == ".py")


def code_strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, text) of the identifiers and strings of a file that are no documentation."""
    documentation = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            documentation |= {
                id(stmt.value) for stmt in body if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
            }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.arg):
            yield node.lineno, node.name if not isinstance(node, ast.arg) else node.arg


def test_the_words_that_are_looked_for() -> None:
    known = names()
    assert {"cortex-m4", "arm", "arm64-v8a", "x86-64-v3", "thumbv7em", "aarch64", "riscv32", "wasm32"} <= known
    assert {"cortex", "thumb", "arm", "riscv", "wasm", "android"} <= families(known)


def test_the_exceptions_are_needed() -> None:
    for start in ALLOWED:
        assert [file for file in sources() if file.startswith(start)], start


def test_no_other_code_names_a_target() -> None:
    known = names()
    pattern = re.compile(
        "|".join(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])" for name in sorted(known, key=len, reverse=True))
        + "|"
        + "|".join(rf"(?<![a-z]){re.escape(name)}" for name in sorted(families(known)))
    )
    search = cache(pattern.search)
    found = []
    for file in sources():
        if file.startswith(tuple(ALLOWED)):
            continue
        for line, text in code_strings(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            match = search(text.lower())
            if match:
                found.append(f"{file}:{line}: {match[0]!r} in {text[:60]!r}")
    assert found == []
