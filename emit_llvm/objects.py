"""Programs -> object files, assembly and LLVM IR."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from ..ir.by_content import bytes_of
from ..ir.program import Program
from ..targets import Machine
from . import backend
from .elf import as_bare_metal, with_mapping_symbols
from .elf_data import DataSymbol, data_object
from .entry import ModuleOptions, constant_symbol
from .expressions import internal_error
from .guard import asked_functions
from .module import SIZE_ATTRIBUTES, constant_align, constant_array, foreign_kernels, module_text, quoted
from .object_file import defined_symbols, undefined_symbols
from .runtime import helper_object
from .threads import system_functions

INLINE_CONSTANTS = 1 << 20
"""Programs with more bytes of constants than this keep them in an object of their own, where objects are ELF."""


def emit_objects(program: Program, machine: Machine) -> list[tuple[str, bytes]]:
    """The objects that make the model, as (file name, bytes): ``NAME.o``, ``NAME_data.o`` for large weights, and
    ``NAME_runtime.o`` where the machine lacks instructions that the model needs.

    Those of custom operators are not among them: they are compiled elsewhere. Raises an internal error where LLVM
    introduced a call that the artifact does not provide.
    """
    external = module_options(program, machine).external_constants
    objects = [(f"{program.name}.o", code_object(program, machine))]
    if external:
        objects += constants_objects(program, machine)
    objects = with_helpers(objects, program.name, machine, linked_besides(program, machine))
    return objects if machine.target.hosted else [(name, bare_metal(image, machine)) for name, image in objects]


def code_object(program: Program, machine: Machine, *, chosen: bool = False) -> bytes:
    """The object with the kernels and the entry; ``chosen`` as :class:`ModuleOptions` has it, with all constants in
    another object."""
    options = module_options(program, machine)
    if chosen:
        options = replace(options, chosen=True, external_constants=True)
    module = optimized_module(module_text(program, machine, options), program, machine)
    return generator_for(machine).emit_object(module)


def with_helpers(
    objects: list[tuple[str, bytes]], name: str, machine: Machine, elsewhere: Collection[str]
) -> list[tuple[str, bytes]]:
    """``objects``, and ``NAME_runtime.o`` where they call what ``machine`` lacks. Raises an internal error where LLVM
    introduced a call that nothing provides; what is ``elsewhere`` is linked besides."""
    helpers = helper_object(_missing(objects), machine)
    if helpers is not None:
        objects = [*objects, (f"{name}_runtime.o", helpers)]
    for symbol in _missing(objects):
        if symbol not in elsewhere and not is_compiler_helper(symbol, machine):
            raise internal_error(f"the code for {machine.name} calls {symbol}, which nothing provides")
    return objects


def linked_besides(program: Program, machine: Machine) -> set[str]:
    """What others define: the C of custom operators, and functions of the system that tell of the processor and make
    threads."""
    asked = asked_functions(machine)
    return {*foreign_kernels(program), *asked, *(system_functions(machine) if program.threads else ())}


def bare_metal(image: bytes, machine: Machine) -> bytes:
    """An object for ``machine``, which has no operating system."""
    abi = machine.abi.elf
    if abi is None:
        return image
    image = as_bare_metal(image, abi)
    return with_mapping_symbols(image, abi.code_symbol) if abi.code_symbol else image


def emit_assembly(program: Program, machine: Machine) -> str:
    """The assembly of ``NAME.o``; large weights are left out, as external symbols."""
    text = module_text(program, machine, module_options(program, machine))
    return generator_for(machine).emit_assembly(optimized_module(text, program, machine))


def emit_ir(program: Program, machine: Machine, *, optimized: bool = False) -> str:
    """The module as ccml prints it, or ``optimized`` as LLVM leaves it before code generation."""
    text = module_text(program, machine, module_options(program, machine))
    return str(optimized_module(text, program, machine)) if optimized else text


def is_compiler_helper(symbol: str, machine: Machine) -> bool:
    """Whether ``symbol`` is a helper of the run-time ABI that every compiler for ``machine`` provides.

    Those that end in a C library, such as ``__aeabi_memcpy``, do not count.
    """
    helpers = machine.abi.helpers
    provided, libc = (any(fnmatchcase(symbol, name) for name in names) for names in (helpers.provided, helpers.libc))
    return provided and not libc


def module_options(program: Program, machine: Machine) -> ModuleOptions:
    """How ``program`` is printed for ``machine``."""
    total = sum(program.buffers[name].nbytes for name in program.constants)
    apart = machine.abi.elf is not None and total > INLINE_CONSTANTS and program.weights is None
    options = ModuleOptions(external_constants=apart)
    return replace(options, attributes=SIZE_ATTRIBUTES, unroll_sums=False) if program.small_code else options


def optimized_module(text: str, program: Program, machine: Machine) -> backend.ModuleRef:
    """The module ``text`` of kernels of ``program``, as code is generated from it."""
    few = machine.cpu.few_passes and not program.small_code
    return backend.optimize(text, generator_for(machine), speed_level=speed_level(program), few_passes=few)


def speed_level(program: Program) -> int:
    """LLVM's level of optimization."""
    return 2 if program.small_code else 3


def generator_for(machine: Machine) -> backend.TargetMachine:
    """What makes machine code for ``machine``."""
    return backend.target_machine(machine, reloc=backend.relocation(machine))


def constants_objects(program: Program, machine: Machine) -> list[tuple[str, bytes]]:
    """Objects with constants alone: ``NAME_data.o``, and one more for each section that some of them are to be in."""
    usual = machine.abi.objects.constants.format(name=program.name)
    groups: dict[str, list[DataSymbol]] = {usual: []}
    for name, align in constant_align(program, machine).items():
        symbol = DataSymbol(constant_symbol(program, name), bytes_of(constant_array(program, name)).data, align)
        groups.setdefault(program.sections.get(("weights", name), usual), []).append(symbol)
    return [
        (f"{program.name}_data{number or ''}.o", constants_object(machine, section, symbols))
        for number, (section, symbols) in enumerate(groups.items())
    ]


def constants_object(machine: Machine, section: str, symbols: Sequence[DataSymbol]) -> bytes:
    """The object that defines ``symbols`` and nothing else, hidden where the format can say so. ELF is written as such:
    LLVM takes seconds for many megabytes."""
    if machine.abi.elf is not None:
        return data_object(machine.abi.elf, machine.abi.pointer_bits, section, symbols)
    place = f', section "{section}"' if section else ""
    lines = (
        f"@{symbol.name} = hidden constant [{len(symbol.data)} x i8] {quoted(symbol.data)}{place}, align {symbol.align}"
        for symbol in symbols
    )
    text = "\n".join((f'target triple = "{backend.triple(machine)}"', *lines))
    generator = generator_for(machine)
    return generator.emit_object(backend.optimize(text, generator))


def _missing(objects: list[tuple[str, bytes]]) -> list[str]:
    """The symbols that some object needs and none defines."""
    provided = {symbol for _, image in objects for symbol in defined_symbols(image)}
    return sorted({symbol for _, image in objects for symbol in undefined_symbols(image)} - provided)
