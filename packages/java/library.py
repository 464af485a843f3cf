"""The library that a model's Java class loads: the model, and the native methods around it."""

from __future__ import annotations

from pathlib import Path

from ...emit_c.contract import contract_of
from ...emit_llvm.entry import exported_symbols
from ...emit_llvm.module import foreign_kernels
from ...emit_llvm.shared import link_library
from ...ir.program import Program
from ...targets import Machine
from .glue import functions, glue_object
from .names import JavaNames


def library_name(name: str) -> str:
    """What the library of the model ``name`` is called when it is loaded: neither like that with the C functions alone,
    nor like one of the system."""
    return f"{name}_jni"


def library_file(name: str, machine: Machine) -> str:
    """The file of that library, as the system of ``machine`` calls it."""
    library = machine.target.library
    assert library is not None
    return library.file.format(name=library_name(name))


def link_java_library(
    program: Program, machine: Machine, digest: int, static_library: bytes, path: Path
) -> None:
    """Writes the library ``path`` from the static library of ``program``, which may have code for several CPUs up to
    that of ``machine``, for the class ``digest``. It exports what the header declares and the native methods.

    Raises ``TOOLCHAIN`` where nothing links for the machine.
    """
    contract, name = contract_of(program), program.name
    archive = machine.abi.objects.library.format(name=name)
    objects = [(f"{name}_jni.o", glue_object(program, machine, digest)), (archive, static_library)]
    exported = [*exported_symbols(program), *functions(contract, JavaNames.of(contract.prefix))]
    link_library(objects, machine, library_name(name), exported, path, bool(foreign_kernels(program)))
