"""Programs -> object files, assembly and LLVM IR."""

from __future__ import annotations

from dataclasses import replace

from ..ir.program import Program
from ..targets import Machine
from . import backend
from .elf import defined_symbols, undefined_symbols
from .elf_data import DataSymbol, data_object
from .expressions import internal_error
from .module import ModuleOptions, constant_align, constant_bytes, constant_symbol, module_text

INLINE_CONSTANTS = 1 << 20
"""Programs with more bytes of constants than this keep them in an object of their own."""

_SIZE_ATTRIBUTES = "optsize"


def emit_objects(program: Program, machine: Machine, *, optimize: str = "speed") -> list[tuple[str, bytes]]:
    """The objects that make the model, as (file name, bytes): ``NAME.o``, and ``NAME_data.o`` for large weights.

    ``optimize`` is ``speed`` or ``size``. Raises an internal error where LLVM introduced a call that the artifact
    does not provide.
    """
    options = _options(program, optimize)
    generator = _generator(machine)
    module = backend.optimize(module_text(program, machine, options), generator, speed_level=_level(optimize))
    objects = [(f"{program.name}.o", generator.emit_object(module))]
    if options.external_constants:
        objects.append((f"{program.name}_data.o", _data_object(program, machine)))
    _check_symbols([image for _, image in objects], machine)
    return objects


def emit_assembly(program: Program, machine: Machine, *, optimize: str = "speed") -> str:
    """The assembly of ``NAME.o``; large weights are left out, as external symbols."""
    text = module_text(program, machine, _options(program, optimize))
    generator = _generator(machine)
    return generator.emit_assembly(backend.optimize(text, generator, speed_level=_level(optimize)))


def emit_ir(program: Program, machine: Machine, *, optimize: str | None = None) -> str:
    """The module as ccml prints it, or with ``optimize`` as LLVM leaves it before code generation."""
    if optimize is None:
        return module_text(program, machine, _options(program, "speed"))
    text = module_text(program, machine, _options(program, optimize))
    return str(backend.optimize(text, _generator(machine), speed_level=_level(optimize)))


def is_runtime_helper(symbol: str, machine: Machine) -> bool:
    """Whether ``symbol`` is a helper of the run-time ABI of 32-bit Arm, which every linker driver there provides.

    The memory functions (``__aeabi_memcpy`` and so on) end in a C library and do not count.
    """
    is_arm = machine.abi.triple.startswith(("arm", "thumb"))
    return is_arm and symbol.startswith("__aeabi_") and not symbol.startswith("__aeabi_mem")


def _options(program: Program, optimize: str) -> ModuleOptions:
    total = sum(program.buffers[name].nbytes for name in program.constants)
    options = ModuleOptions(external_constants=total > INLINE_CONSTANTS)
    return replace(options, attributes=_SIZE_ATTRIBUTES) if optimize == "size" else options


def _level(optimize: str) -> int:
    return 2 if optimize == "size" else 3


def _generator(machine: Machine) -> backend.TargetMachine:
    return backend.target_machine(machine, reloc="pic" if machine.target.hosted else "static")


def _data_object(program: Program, machine: Machine) -> bytes:
    symbols = (
        DataSymbol(constant_symbol(program, name), constant_bytes(program, name), align)
        for name, align in constant_align(program, machine).items()
    )
    return data_object(machine.abi.triple, machine.abi.pointer_bits, f".rodata.{program.name}", symbols)


def _check_symbols(images: list[bytes], machine: Machine) -> None:
    provided = {symbol for image in images for symbol in defined_symbols(image)}
    for image in images:
        for symbol in undefined_symbols(image):
            if symbol not in provided and not is_runtime_helper(symbol, machine):
                raise internal_error(f"the code for {machine.name} calls {symbol}, which nothing provides")
