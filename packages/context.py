"""What the templates of packages are given: facts of a model, its machine and its budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .. import __version__
from ..emit_c.compiler_flags import MEANING, clang_flags, gcc_flags, optimization, thread_flags
from ..emit_c.contract import Contract, argument_order, contract_of
from ..emit_c.symbols import LICENCE
from ..emulation.platforms import emulator_command
from ..ir.external_weights import weights_file
from ..ir.identity import program_digest
from ..ir.program import Program, Role
from ..ir.types import DType
from ..record import record
from ..report.schema import LibraryTotals, Report
from ..targets import Machine, Region
from ..targets.development_boards import DevelopmentBoard
from .ecosystem import CORTEX_M, GENERIC, RISCV
from .engine import memory_name
from .names import cmake_target, shortened
from .sample import Sample

PACKAGE_VERSION = "1.0.0"
RELEASE_DATE = "2025-01-01"
"""Of every package: what is the same in has to be the same in its bytes."""

_VECTORS_SIZE = 0x40
_STACK_BESIDE = 4096
"""Bytes of stack for the application around a model."""
_STACK_UNKNOWN = 16384

_DCORES = {"cortex-m0plus": "Cortex-M0+"}
_MORE_DCORES = {"cortex-m0": ("Cortex-M0+", "Cortex-M3", "Cortex-M4", "Cortex-M7")}
_ARDUINO_CORES = {
    "cortex-m0": ("samd", "stm32", "mbed_rp2040", "rp2040"),
    "cortex-m0plus": ("samd", "stm32", "mbed_rp2040", "rp2040"),
    "cortex-m3": ("sam", "stm32"),
    "cortex-m4": ("mbed_nano", "mbed_nicla", "renesas_uno", "renesas_portenta", "nrf52", "stm32", "samd", "teensy"),
    "cortex-m7": ("mbed_portenta", "mbed_giga", "mbed_opta", "stm32", "teensy"),
    "cortex-m33": ("rp2040", "stm32", "renesas", "silabs"),
    "rv32imc": ("esp32",),
}
_CMAKE_SYSTEMS = {"Windows": "Windows", "Apple": "Darwin"}
_PLATFORMIO_BOARDS = {
    "cortex-m0plus": ("raspberrypi", "pico"),
    "cortex-m3": ("atmelsam", "due"),
    "cortex-m4": ("ststm32", "nucleo_f446re"),
    "cortex-m7": ("teensy", "teensy41"),
    "rv32imc": ("espressif32", "esp32-c3-devkitm-1"),
}


_ARDUINO_NAME = 63
"""Characters of ``name`` in library.properties (Arduino library specification)."""
_COMPONENT_NAME = 32
"""Characters of ``Csub`` of a component (``CsubType`` of PACK.xsd)."""


@record
class MemoryMap:
    """Where a bare-metal application goes; the core starts by the vector table at ``vectors``."""

    title: str
    vectors: int
    vectors_size: int
    code: Region
    ram: Region


def build_context(
    program: Program,
    machine: Machine,
    report: Report,
    sample: Sample,
    sources: Sequence[str],
    board: DevelopmentBoard | None = None,
) -> dict[str, object]:
    """The variables of the templates. ``sources`` are the C files of the model."""
    contract = contract_of(program)
    hosted = machine.target.hosted
    family = machine.target.family
    bare = not hosted
    memory_map = _memory_map(machine) if board is None or not board.bare else _board_map(board)
    budget = _budget(report)
    name = contract.prefix
    stack = report.totals.stack_bytes
    platform, platformio_board = _PLATFORMIO_BOARDS.get(machine.cpu.name, ("espressif32", "esp32dev"))
    weights = f"{name}_weights.bin"
    context: dict[str, object] = {
        "name": name,
        **_names(name),
        "macro": contract.macro,
        "contract": contract,
        "arguments": _arguments(contract, program),
        "machine": machine,
        "licence": LICENCE,
        "version": __version__,
        "package_version": PACKAGE_VERSION,
        "release_date": RELEASE_DATE,
        "sample": sample,
        "weights_content": b"" if program.weights is None else weights_file([program]),
        "float_outputs": any(
            content and tensor.dtype in (DType.F32, DType.F64)
            for tensor, content in zip(contract.outputs, sample.expected, strict=True)
        ),
        "program_digest": program_digest(replace(program, weights=None))[:16],
        "budget": budget,
        "sources": [file for file in sources if file.endswith(".c")],
        "headers": [f"{name}.h"],
        "definitions": [f"{contract.layer_done}={name}_check_layer"],
        "check_sources": [f"{name}_check.c", f"{name}_sample.c"],
        "weights_file": weights if weights in sources else "",
        "application": _application(name, machine),
        "hosted": hosted,
        "bare": bare,
        "cortex_m": family == CORTEX_M,
        "riscv": family == RISCV,
        "has_cycle_counter": "long_multiply" in machine.cpu.extensions,
        "memory_map": memory_map,
        "memory_title": "" if memory_map is None else memory_map.title,
        "clock_hz": 0,
        "stack_bytes": _STACK_UNKNOWN if stack is None else -(-(stack + _STACK_BESIDE) // 1024) * 1024,
        "needs_fpu": machine.cpu.has_fpu and bare,
        "flags": (optimization(program), *MEANING, *machine.target.c_flags, *(machine.cpu.c_flags if hosted else ())),
        "machine_flags": machine.cpu.c_flags if bare else (),
        "gcc_flags": gcc_flags(machine),
        "clang_flags": clang_flags(machine),
        "link_flags": _link_flags(machine, memory_map),
        "thread_flags": list(thread_flags(program, machine)),
        "cross_compile": machine.abi.cross_compile,
        "cmake_options": _cmake_options(machine),
        "system_name": "Generic" if bare else _CMAKE_SYSTEMS.get(family, "Linux"),
        "emulator": emulator_command(machine) if board is None else [],
        "architectures": ",".join(_architectures(machine)),
        "pio_platform": platform,
        "pio_board": platformio_board,
        "dcore": _DCORES.get(machine.cpu.name, machine.cpu.name.title()),
        "more_dcores": _MORE_DCORES.get(machine.cpu.name, ()),
        "library": False,
        "shared_by": "",
        "has_shared_memory": False,
    }
    return {**context, "members": [context]}


def linked_context(
    whole: Program, models: Sequence[Mapping[str, object]], machine: Machine, totals: LibraryTotals,
    sources: Sequence[str],
) -> dict[str, object]:
    """The variables of the templates for a library of several ``models``, of which each has its own."""
    name = whole.name
    contract = contract_of(whole)
    models = [{**model, "shared_by": name} for model in models]
    checks = [f"{name}_check.c", *(file for model in models for file in _texts(model, "check_sources"))]
    stacks = [int(str(model["stack_bytes"])) for model in models]
    weights = f"{name}_weights.bin"
    return {
        **models[0],
        "name": name,
        **_names(name),
        "macro": contract.macro,
        "contract": contract,
        "has_shared_memory": True,
        "io_in_pools": any(memory.whole for model in models for memory in _contract(model).pools),
        "members": models,
        "budget": _library_budget(totals),
        "sources": [file for file in sources if file.endswith(".c")],
        "headers": [f"{name}.h", *(file for model in models for file in _texts(model, "headers"))],
        "definitions": [text for model in models for text in _texts(model, "definitions")],
        "check_sources": checks,
        "weights_file": weights if weights in sources else "",
        "application": ["main.c", *checks, *_startup(machine)],
        "stack_bytes": max(stacks),
    }


def _names(name: str) -> dict[str, object]:
    """What the package is called where its name does not do."""
    return {
        "cmake_target": cmake_target(name),
        "arduino_name": shortened(name, _ARDUINO_NAME),
        "component_name": shortened(name, _COMPONENT_NAME),
    }


def _contract(context: Mapping[str, object]) -> Contract:
    found = context["contract"]
    assert isinstance(found, Contract)
    return found


def _texts(context: Mapping[str, object], key: str) -> Sequence[str]:
    found = context[key]
    assert isinstance(found, list)
    return found


def _library_budget(totals: LibraryTotals) -> list[tuple[str, str]]:
    """What all models take together."""
    facts = [("flash", totals.flash_bytes), ("RAM", totals.ram_bytes), ("state", totals.state_bytes or None)]
    return [(name, f"{value:,} bytes") for name, value in facts if value is not None]


def _arguments(contract: Contract, program: Program) -> list[str]:
    """What the application calls the arguments of the run function."""
    names = {
        Role.POOL: lambda number: memory_name(number, contract),
        Role.STATE: lambda number: "state",
        Role.WEIGHTS: lambda number: f"{contract.prefix}_sample_weights",
        Role.THREADS: lambda number: "&workers.threads",
        Role.INPUT: lambda number: f"{'tensor' if contract.inputs[number].row_axis is None else '&rows'}_{number}",
        Role.OUTPUT: lambda number: f"tensor_{number + len(contract.inputs)}",
    }
    return [names[role](number) for role, number in argument_order(contract, program)]


def _application(name: str, machine: Machine) -> list[str]:
    """The C files of an application without a framework."""
    return ["main.c", f"{name}_check.c", f"{name}_sample.c", *_startup(machine)]


def _startup(machine: Machine) -> list[str]:
    return [file for file in machine.abi.environment.driver if file.startswith("startup")]


def _memory_map(machine: Machine) -> MemoryMap | None:
    board = machine.abi.environment.board
    if board is None:
        return None
    title = f"the board {board.machine} that QEMU emulates"
    return MemoryMap(title, board.vectors, _VECTORS_SIZE, board.code, board.ram)


def _board_map(board: DevelopmentBoard) -> MemoryMap:
    """Of a board that starts a program by the vector table at the beginning of its flash."""
    flash = board.flash
    code = Region(flash.origin + _VECTORS_SIZE, flash.size - _VECTORS_SIZE)
    title = f"the board {board.title} ({board.chip})"
    return MemoryMap(title, flash.origin, _VECTORS_SIZE, code, board.largest_ram.region)


def _cmake_options(machine: Machine) -> str:
    """What CMake has to be told of the machine, on the command line of the README."""
    kit = machine.target.kit
    if kit is not None:
        file = f"${kit.variable}/build/cmake/android.toolchain.cmake"
        return f" -DCMAKE_TOOLCHAIN_FILE={file} -DANDROID_ABI={machine.abi.name}"
    if machine.target.family == "Apple":
        system = " -DCMAKE_SYSTEM_NAME=iOS" if machine.abi.name.startswith("ios") else ""
        return f"{system} -DCMAKE_OSX_ARCHITECTURES={machine.abi.triple.split('-')[0]}"
    return " -DCMAKE_TOOLCHAIN_FILE=toolchain.cmake" if machine.abi.cross_compile else ""


def _link_flags(machine: Machine, memory_map: MemoryMap | None) -> list[str]:
    if machine.target.hosted:
        return []
    script = ["-Wl,-T,check/linker.ld"] if memory_map is not None else []
    return ["-nostdlib", "-lgcc", "-Wl,--gc-sections", *script]


def _architectures(machine: Machine) -> Sequence[str]:
    return ("*",) if machine.name == GENERIC else _ARDUINO_CORES.get(machine.cpu.name, ("*",))


def _budget(report: Report) -> list[tuple[str, str]]:
    """What the model takes, as far as it is known."""
    totals = report.totals
    facts = [
        ("flash", totals.flash_bytes, "bytes"), ("RAM", totals.ram_bytes, "bytes"),
        ("state", totals.state_bytes or None, "bytes"), ("stack", totals.stack_bytes, "bytes"),
        ("instructions", totals.instructions, "a run"), ("cycles", totals.cycles, "a run, estimated"),
        ("MACs", totals.macs, "a run"),
    ]  # fmt: skip
    return [(name, f"{value:,} {unit}") for name, value, unit in facts if value is not None]
