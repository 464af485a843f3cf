"""From a program to machine code with addresses, by either route, and which layer its entry function works on where."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from ..emit_c.artifact import write_c
from ..emit_c.compiler_flags import all_flags, optimization
from ..emit_c.symbols import assign_symbols
from ..emit_llvm.coded import with_known_blocks
from ..emit_llvm.entry import run_symbol
from ..emit_llvm.objects import emit_objects
from ..emulation.toolchain import build, find_tool, run_tool
from ..errors import CcmlError
from ..ir.program import Program
from ..record import record
from ..targets import Machine
from .functions import find_functions
from .image import BASE, Image, link_objects, load_executable

_C_FLAGS = ("-std=gnu99", "-ffunction-sections", "-fdata-sections")
_LINES = "-g1"
"""Has GCC say of which line of C an instruction is."""


@record
class Build:
    """``objects`` make the model. ``layer_of`` gives the call of the program to which an instruction of the entry
    function belongs; it is empty where that could not be found out. ``executable`` is the program, where a linker made
    it, and ``helpers`` names the functions of the compiler's run-time library that the objects call. ``builder`` builds
    another program in the same way. ``route`` is ``llvm``, or ``c`` for the C sources by GCC."""

    image: Image
    entry: str
    layer_of: Mapping[int, int]
    objects: tuple[bytes, ...]
    executable: bytes | None = None
    helpers: tuple[str, ...] = ()
    builder: Callable[[Program, Machine], Build] = field(default=lambda p, m: build_objects(p, m), repr=False)
    route: str = "llvm"


def build_objects(program: Program, machine: Machine, objects: Sequence[tuple[str, bytes]] | None = None) -> Build:
    """By LLVM. ``objects`` are those of ``emit_objects``, where they have been made.

    Helpers of the compiler's run-time library are linked where GCC for the machine is installed.
    """
    images = tuple(image for _, image in objects or emit_objects(program, machine))
    image = link_objects(images)
    entry = run_symbol(program)
    helpers, executable = tuple(sorted(image.missing)), None
    if helpers and has_compiler(machine):
        with tempfile.TemporaryDirectory(prefix="ccml-") as name:
            folder = Path(name)
            executable = _linked(write_objects(images, folder), machine, entry, folder)
            image = load_executable(executable)
    return Build(image, entry, _layers_by_calls(program, machine, image, entry), images, executable, helpers)


def has_compiler(machine: Machine) -> bool:
    """Whether GCC for ``machine`` is installed."""
    return shutil.which(_compiler(machine)) is not None


def build_c(program: Program, machine: Machine, written: Path | None = None) -> Build:
    """By GCC, with the options of the artifact's Makefile. ``written`` is a folder that has the C of the program, and
    no other, already, whose sizes and stack are wanted: it is compiled without ``layer_of``. Raises ``TOOLCHAIN`` where
    GCC is not installed."""
    symbols = assign_symbols(program)
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        folder = Path(name)
        if written is None:
            write_c(program, machine, folder)
        place = written or folder
        lines = () if written else (_LINES,)
        flags = (*_C_FLAGS, *lines, optimization(program), *all_flags(machine, _compiler(machine)), "-I.")
        made = [(source, folder / f"{source.stem}.o") for source in sorted(place.resolve().glob("*.c"))]
        for source, target in made:
            build([find_tool(_compiler(machine)), *flags, "-c", source, "-o", target], place)
        objects = tuple(target.read_bytes() for _, target in made)
        executable = _linked(write_objects(objects, folder), machine, symbols.run, folder)
        image, helpers = load_executable(executable), tuple(sorted(link_objects(objects).missing))
        layer_of = {} if written else _layers_by_lines(program, image, machine, folder)
        return Build(image, symbols.run, layer_of, objects, executable, helpers, build_c, "c")


def write_objects(objects: Sequence[bytes], folder: Path) -> list[Path]:
    """The objects as files."""
    files = [folder / f"object{number}.o" for number in range(len(objects))]
    for file, content in zip(files, objects, strict=True):
        file.write_bytes(content)
    return files


def _compiler(machine: Machine) -> str:
    return f"{machine.abi.cross_compile}gcc"


def _linked(files: Sequence[Path], machine: Machine, entry: str, folder: Path) -> bytes:
    """A program without start-up code."""
    link = ["-nostdlib", f"-Wl,-e,{entry}", f"-Wl,-u,{entry}", f"-Wl,-Ttext={BASE:#x}", "-Wl,--gc-sections", "-lgcc"]
    executable = folder / "linked"
    compiler = find_tool(_compiler(machine))
    build([compiler, *machine.cpu.c_flags, *map(str, files), *link, "-o", str(executable)], folder)
    return executable.read_bytes()


# ---------------------------------------------------------------- layers


def _layers_by_calls(program: Program, machine: Machine, image: Image, entry: str) -> dict[int, int]:
    """LLVM's entry function calls the kernels in order, and what stands before a call belongs to it."""
    names = {address: name for name, (address, _) in image.functions.items()}
    calls = with_known_blocks(program, machine).calls
    wanted = [f"{program.owner}_{call.kernel}" for call in calls]
    function = find_functions(image, entry)[image.function(entry)]
    layer_of, layer = {}, 0
    for instruction in sorted(function.instructions, key=lambda i: i.address):
        if layer < len(wanted):
            layer_of[instruction.address] = layer
        if instruction.op in ("bl", "b") and instruction.target in function.calls:
            if layer >= len(wanted) or names.get(instruction.target) != wanted[layer]:
                return {}
            layer += 1
    return layer_of if layer == len(wanted) else {}


def _call_lines(text: str, run: str, kernels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(line, call) of the calls of kernels in the run function, which has one on a line."""
    waiting = list(reversed(list(enumerate(kernels))))
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        inside = inside or re.match(rf"\w.*\b{run}\(", line) is not None
        if inside and waiting and line.strip().startswith(f"{waiting[-1][1]}("):
            yield number, waiting.pop()[0]


def _layers_by_lines(program: Program, image: Image, machine: Machine, folder: Path) -> dict[int, int]:
    """GCC inlines kernels into the run function; the debug information of the program in ``folder`` says on which line
    of it they were called."""
    symbols = assign_symbols(program)
    text = (folder / f"{symbols.prefix}.c").read_text(encoding="utf-8")
    lines = dict(_call_lines(text, symbols.run, [symbols.kernels[call.kernel] for call in program.calls]))
    function = find_functions(image, symbols.run)[image.function(symbols.run)]
    addresses = sorted({instruction.address for instruction in function.instructions})
    (folder / "addresses").write_text("\n".join(f"{address:#x}" for address in addresses), encoding="ascii")
    try:
        tool = find_tool(f"{machine.abi.cross_compile}addr2line")
    except CcmlError:
        return {}
    done = run_tool([tool, "-a", "-i", "-e", "linked", "@addresses"], folder)
    layer_of = {}
    for chain in re.split(r"^0x", done.stdout, flags=re.MULTILINE)[1:]:
        first, *places = chain.split("\n")
        outermost = [place for place in places if place.strip()][-1]
        line = re.search(r":(\d+)", outermost)
        if line is not None and int(line[1]) in lines:
            layer_of[int(first, 16)] = lines[int(line[1])]
    return layer_of
