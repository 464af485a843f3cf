"""Writes a compiled program as what was asked for: C, objects, libraries, assembly, LLVM IR."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from enum import Enum
from pathlib import Path

from ..emit_c.artifact import custom_sources, write_c
from ..emit_c.header import public_header
from ..emit_c.symbols import assign_symbols
from ..emit_llvm.archive import archive
from ..emit_llvm.entry import exported_symbols
from ..emit_llvm.levels import Level, level_objects, named_levels
from ..emit_llvm.module import foreign_kernels
from ..emit_llvm.objects import emit_assembly, emit_ir, emit_objects
from ..emit_llvm.shared import link_library
from ..emulation.custom_objects import compiles_custom, custom_objects
from ..errors import CcmlError, ErrorCode
from ..ir.program import Program
from ..targets import Machine
from .weights_apart import write_weights

log = logging.getLogger(__name__)


class Emit(Enum):
    """The kinds of output. The value is the spelling of ``--emit``."""

    C = "c"
    OBJECT = "obj"
    LIBRARY = "lib"
    ASSEMBLY = "asm"
    LLVM = "llvm"


DEFAULT_EMIT = (Emit.C, Emit.LIBRARY)


Objects = list[tuple[str, bytes]]


def emit(
    program: Program, machine: Machine, kinds: Collection[Emit], folder: Path, levels: Sequence[Level] = ()
) -> Objects | None:
    """Writes the files of ``kinds`` into ``folder``; the public header is always among them.

    With ``levels``, the most demanding first, objects and libraries have the code of all, while the C is ``program``.
    Returns the objects by file name, where objects were made. A library to be loaded needs a linker: where none is
    there, that is an error if ``kinds`` is the library alone, and a warning otherwise. The C of custom operators is
    compiled and is among the objects; where there is no compiler for it, it is written as C, and the header says so.
    """
    custom = emit_sources(program, machine, kinds, folder, levels)
    return emit_code(program, machine, kinds, folder, levels, custom)


def emit_sources(
    program: Program, machine: Machine, kinds: Collection[Emit], folder: Path, levels: Sequence[Level] = ()
) -> Objects | None:
    """The part of :func:`emit` that is C and data. Returns the objects of custom operators, which are not among the
    files yet: none for C alone, and ``None`` where nothing compiles them."""
    name = program.name
    custom = compiled_custom(_of_machines(program, machine, levels)) if _linked(kinds) else []
    if Emit.C in kinds:
        log.info("writing C")
        write_c(program, machine, folder, custom_apart=custom is None)
    else:
        symbols = assign_symbols(program)
        header = public_header(program, machine, symbols, custom_apart=custom is None)
        (folder / f"{name}.h").write_text(header, encoding="utf-8", newline="\n")
        for file, text in custom_sources(program, symbols).items() if custom is None or not _linked(kinds) else ():
            (folder / file).write_text(text, encoding="utf-8", newline="\n")
    write_weights(name, [program, *(level.program for level in levels)], folder)
    return custom


def emit_code(
    program: Program, machine: Machine, kinds: Collection[Emit], folder: Path, levels: Sequence[Level],
    custom: Objects | None,
) -> Objects | None:  # fmt: skip
    """The part of :func:`emit` that LLVM makes, ``custom`` being what :func:`emit_sources` returned."""
    of_machines = _of_machines(program, machine, levels)
    for each in of_machines:
        if Emit.LLVM in kinds:
            text = emit_ir(each.program, each.machine)
            (folder / f"{each.program.name}.ll").write_text(text, encoding="utf-8", newline="\n")
        if Emit.ASSEMBLY in kinds:
            log.info("generating assembly")
            text = emit_assembly(each.program, each.machine)
            (folder / f"{each.program.name}.s").write_text(text, encoding="utf-8", newline="\n")
    if not _linked(kinds):
        return None
    log.info("generating machine code")
    code = level_objects(program, of_machines) if levels else emit_objects(program, machine)
    objects = [*code, *(custom or [])]
    exported = None if custom is None else exported_symbols(program)
    write_machine_code(
        program.name, objects, of_machines[0].machine, kinds, folder, exported, bool(foreign_kernels(program))
    )
    return objects


def _of_machines(program: Program, machine: Machine, levels: Sequence[Level]) -> list[Level]:
    return named_levels(program.name, levels) if levels else [Level(machine, program)]


def _linked(kinds: Collection[Emit]) -> bool:
    return Emit.OBJECT in kinds or Emit.LIBRARY in kinds


def write_machine_code(
    name: str, objects: Objects, machine: Machine, kinds: Collection[Emit], folder: Path,
    exported: Sequence[str] | None, custom: bool = False,
) -> None:  # fmt: skip
    """Writes ``objects``, and the libraries ``name`` of them, as far as ``kinds`` asks for them, into ``folder``.

    What is loaded exports ``exported``, and is not written where that is ``None``; ``custom`` operators are among the
    objects, which may need the C library. Without a linker for it, that is an
    error if ``kinds`` is the library alone, and a warning otherwise.
    """
    if Emit.OBJECT in kinds:
        for file, image in objects:
            (folder / machine.abi.objects.object_file(file)).write_bytes(image)
    if Emit.LIBRARY not in kinds:
        return
    with (folder / machine.abi.objects.library.format(name=name)).open("wb") as stream:
        stream.writelines(archive(objects, machine))
    if machine.target.library is None or exported is None:
        return
    library = folder / machine.target.library.file.format(name=name)
    log.info("linking %s", library.name)
    try:
        link_library(objects, machine, name, exported, library, custom)
    except CcmlError as problem:
        if problem.kind is not ErrorCode.TOOLCHAIN or set(kinds) == {Emit.LIBRARY}:
            raise
        log.warning("%s is not written: %s; %s", library.name, problem.reason, problem.hint)


def compiled_custom(levels: Sequence[Level]) -> Objects | None:
    """The objects of custom operators, for each of several levels; ``None``, with a warning, where nothing compiles
    them for the only one."""
    machine = levels[0].machine
    if len(levels) > 1 or not foreign_kernels(levels[0].program) or compiles_custom(machine):
        return [entry for level in levels for entry in custom_objects(level.program, level.machine)]
    log.warning(
        "no C compiler for %s: the libraries are without the custom operators, whose C is written beside them",
        machine.abi.triple,
    )
    return None
