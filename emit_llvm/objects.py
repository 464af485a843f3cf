"""Programs -> object files, assembly and LLVM IR."""

from __future__ import annotations

from dataclasses import replace

from ..ir.program import Program
from ..targets import Machine
from . import backend
from .elf import as_bare_metal, defined_symbols, undefined_symbols, with_mapping_symbols
from .elf_data import DataSymbol, data_object
from .expressions import internal_error
from .module import SIZE_ATTRIBUTES, ModuleOptions, constant_align, constant_array, constant_symbol, module_text
from .runtime import helper_object

INLINE_CONSTANTS = 1 << 20
"""Programs with more bytes of constants than this keep them in an object of their own."""


def emit_objects(program: Program, machine: Machine, *, optimize: str = "speed") -> list[tuple[str, bytes]]:
    """The objects that make the model, as (file name, bytes): ``NAME.o``, ``NAME_data.o`` for large weights, and
    ``NAME_runtime.o`` where the machine lacks instructions that the model needs.

    ``optimize`` is ``speed`` or ``size``. Raises an internal error where LLVM introduced a call that the artifact
    does not provide.
    """
    options = _options(program, optimize)
    generator = _generator(machine)
    module = backend.optimize(module_text(program, machine, options), generator, speed_level=_level(optimize))
    objects = [(f"{program.name}.o", generator.emit_object(module))]
    if options.external_constants:
        objects.append((f"{program.name}_data.o", _data_object(program, machine)))
    helpers = helper_object(_missing(objects), machine)
    if helpers is not None:
        objects.append((f"{program.name}_runtime.o", helpers))
    for symbol in _missing(objects):
        if not is_compiler_helper(symbol, machine):
            raise internal_error(f"the code for {machine.name} calls {symbol}, which nothing provides")
    return objects if machine.target.hosted else [(name, _bare_metal(image, machine)) for name, image in objects]


def _bare_metal(image: bytes, machine: Machine) -> bytes:
    image = as_bare_metal(image)
    return with_mapping_symbols(image) if machine.abi.triple.startswith("thumb") else image


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


def is_compiler_helper(symbol: str, machine: Machine) -> bool:
    """Whether ``symbol`` is a helper of the run-time ABI that every compiler for bare-metal Arm provides.

    The memory functions (``__aeabi_memcpy`` and so on) end in a C library and do not count.
    """
    bare_arm = machine.abi.triple.startswith("thumb") and not machine.target.hosted
    return bare_arm and symbol.startswith("__aeabi_") and not symbol.startswith("__aeabi_mem")


def _options(program: Program, optimize: str) -> ModuleOptions:
    total = sum(program.buffers[name].nbytes for name in program.constants)
    options = ModuleOptions(external_constants=total > INLINE_CONSTANTS)
    return replace(options, attributes=SIZE_ATTRIBUTES, unroll_sums=False) if optimize == "size" else options


def _level(optimize: str) -> int:
    return 2 if optimize == "size" else 3


def _generator(machine: Machine) -> backend.TargetMachine:
    return backend.target_machine(machine, reloc=backend.relocation(machine))


def _data_object(program: Program, machine: Machine) -> bytes:
    symbols = (
        DataSymbol(constant_symbol(program, name), constant_array(program, name).tobytes(), align)
        for name, align in constant_align(program, machine).items()
    )
    return data_object(machine.abi.triple, machine.abi.pointer_bits, f".rodata.{program.name}", symbols)


def _missing(objects: list[tuple[str, bytes]]) -> list[str]:
    """The symbols that some object needs and none defines."""
    provided = {symbol for _, image in objects for symbol in defined_symbols(image)}
    return sorted({symbol for _, image in objects for symbol in undefined_symbols(image)} - provided)
