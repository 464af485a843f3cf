"""The part of an .aar that programs in C and C++ link: a package of Prefab (schema 2).

What they link is an import library: functions with the names of the model's, which look up those of the library that
the .aar has in ``jni/`` anyway. So an app that calls the model from Java and C++ has it once, and no two files of the
package meet at one place in the app.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from ..emit_llvm import backend
from ..emit_llvm.archive import static_library
from ..emit_llvm.entry import exported_symbols
from ..emit_llvm.guard import any_cpu
from ..emit_llvm.status import NO_THREADS, OTHER_MODEL
from ..emit_llvm.writer import Function, FunctionWriter
from ..ir.program import Program
from ..targets import Machine
from .java.library import library_name

NO_MODEL = 0
"""The identity that no model has."""
_RTLD_LAZY = 1
"""The flag of ``dlopen`` that has this value in all of Android's ABIs; symbols are looked up at once all the same."""


def prefab_files(
    version: str, abis: Mapping[str, tuple[Program, Machine, Mapping[str, bytes]]]
) -> dict[str, bytes]:  # fmt: skip
    """The files of the package by path; ``abis`` gives program, machine and headers by the ABI's name."""
    name = next(program.name for program, _, _ in abis.values())
    module = f"prefab/modules/{name}"
    package = {"schema_version": 2, "name": name, "version": version, "dependencies": []}
    files = {
        "prefab/prefab.json": _json(package),
        f"{module}/module.json": _json({"export_libraries": ["-ldl"], "library_name": f"lib{name}", "android": {}}),
    }
    for abi, (program, machine, headers) in abis.items():
        level, folder = api_level(machine), f"{module}/libs/android.{abi}"
        facts = {"abi": abi, "api": level, "ndk": level, "stl": "none", "static": True}
        files[f"{folder}/abi.json"] = _json(facts)
        files |= {f"{folder}/include/{file}": content for file, content in headers.items()}
        files[f"{folder}/lib{name}.a"] = static_library([(f"{name}_import.o", import_object(program, machine))])
    return files


def api_level(machine: Machine) -> int:
    """The oldest version of Android that libraries for ``machine`` run on, as its compiler is told."""
    found = re.search(r"\d+$", machine.abi.clang_triple)
    assert found is not None
    return int(found[0])


def import_object(program: Program, machine: Machine) -> bytes:
    """The object that defines what the header of ``program`` declares, by calls of the same in the library of the Java
    class. Where the app has no such library, the functions say that it is one of another model."""
    functions = [_forwarding(symbol, *kind, machine) for symbol, kind in _declared(program, machine).items()]
    text = (
        f'target triple = "{backend.triple(machine)}"',
        _text("library", f"lib{library_name(program.name)}.so"),
        *(line for function in functions for line in (_text(f"name_{function.name}", function.name),
                                                      f"@at_{function.name} = internal global ptr null")),
        *sorted(set().union(*(function.declarations for function in functions))),
        *(function.text for function in functions),
    )  # fmt: skip
    generator = backend.target_machine(machine, reloc=backend.relocation(machine))
    return generator.emit_object(backend.optimize("\n".join(text), generator, speed_level=2))


def _declared(program: Program, machine: Machine) -> dict[str, tuple[Sequence[str], int | None]]:
    """The types of the parameters of what the header declares, and what a call returns without a library: nothing for
    ``None``."""
    name, pointers = program.name, ["ptr"] * len(program.parameters)
    known: dict[str, tuple[Sequence[str], int | None]] = {
        f"{name}_run": (pointers, OTHER_MODEL),
        f"{name}_begin": (["ptr", *pointers], OTHER_MODEL),
        f"{name}_step": (["ptr"], OTHER_MODEL),
        f"{name}_model_id": ([], NO_MODEL),
        f"{name}_reset": (["ptr"], None),
        f"{name}_check_weights": (["ptr", f"i{machine.abi.pointer_bits}"], OTHER_MODEL),
        f"{name}_workers_start": (["ptr", "i32"], NO_THREADS),
        f"{name}_workers_stop": (["ptr"], None),
    }
    return {symbol: known[symbol] for symbol in exported_symbols(program)}


def _text(symbol: str, text: str) -> str:
    return f'@{symbol} = internal constant [{len(text) + 1} x i8] c"{text}\\00"'


def _forwarding(symbol: str, types: Sequence[str], failure: int | None, machine: Machine) -> Function:
    """A function that calls the one of its name, which it looks up at the first call."""
    out, align = FunctionWriter(), machine.abi.pointer_bits // 8
    result = "void" if failure is None else "i32"
    known, search, found, missing = (out.label(stem) for stem in ("known", "search", "found", "missing"))
    kept = out.value(f"load atomic ptr, ptr @at_{symbol} monotonic, align {align}")
    out.branch(out.value(f"icmp eq ptr {kept}, null"), search, known)
    out.start(search)
    library = out.intrinsic("dlopen", "ptr", ("ptr", "@library"), ("i32", str(_RTLD_LAZY)))
    opened = out.label("opened")
    out.branch(out.value(f"icmp eq ptr {library}, null"), missing, opened)
    out.start(opened)
    function = out.intrinsic("dlsym", "ptr", ("ptr", library), ("ptr", f"@name_{symbol}"))
    out.branch(out.value(f"icmp eq ptr {function}, null"), missing, found)
    out.start(found)
    out.effect(f"store atomic ptr {function}, ptr @at_{symbol} monotonic, align {align}")
    out.jump(known)
    out.start(known)
    target = out.value(f"phi ptr [ {kept}, %entry ], [ {function}, %{found} ]")
    arguments = ", ".join(f"{type_} %a{number}" for number, type_ in enumerate(types))
    call = f"tail call {result} {target}({arguments})"
    out.effect(f"ret i32 {out.value(call)}" if failure is not None else call)
    if failure is None:
        out.effect("ret void")
    out.start(missing)
    out.effect("ret void" if failure is None else f"ret i32 {failure}")
    attributes = "nounwind" if machine.abi.detection is None else f"nounwind {any_cpu(machine.abi.detection)}"
    return out.finish(symbol, f"define hidden {result} @{symbol}({arguments}) {attributes}")


def _json(content: Mapping[str, object]) -> bytes:
    return (json.dumps(content, indent=2) + "\n").encode()
