"""Machine code of the hand-written assembly in ``runtime_c``, for compilers that cannot assemble it themselves.

    python -m ccml.emulation.assemble

writes ``emit_llvm/machine_code.py`` anew, after a change of the assembly; a test compares them.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from ..blocks import BLOCKS
from ..targets import TARGETS, Machine
from .toolchain import build, find_tool

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ROOT / "runtime_c"
TABLE = ROOT / "emit_llvm" / "machine_code.py"

_WIDTH = 96
_HEAD = '''"""Block instructions as machine code, in hexadecimal: what the assembly in ``runtime_c`` becomes.

Written by ``python -m ccml.emulation.assemble``: by name, then by the architectures that share the code,
as ABIs name them (``Abi.machine_code``). Code is independent of its address, which is a multiple of 4, and calls
nothing.
"""

MACHINE_CODE: dict[str, dict[tuple[str, ...], str]] = {
'''


def architectures() -> dict[str, Machine]:
    """What ABIs call the machine code that their CPUs can run, each with a machine whose flags the assembler takes."""
    found: dict[str, Machine] = {}
    for target in TARGETS:
        for abi in target.abis:
            if abi.machine_code:
                cpu = max(abi.cpus, key=lambda each: len(each.extensions))
                found.setdefault(abi.machine_code, Machine(target, abi, cpu))
    return found


def assembled(machine: Machine) -> dict[str, bytes]:
    """The block instructions that are nothing but assembly on ``machine``, by name."""
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        folder = Path(name)
        compiler = [find_tool(machine.abi.gcc.command), *machine.cpu.c_flags, f"-I{RUNTIME}"]
        headers = {row: f"ccml_{row}.h" for row in BLOCKS if (RUNTIME / f"ccml_{row}.h").exists()}
        source = folder / "all.c"
        source.write_text("".join(f'#include "{header}"\n' for header in headers.values()))
        text = subprocess.run([*compiler, "-E", source.name], cwd=folder, capture_output=True, text=True, check=True)
        wanted = [row for row in headers if re.search(rf"naked[^;{{}}]*void ccml_{row}\(", text.stdout)]
        with source.open("a") as file:
            file.write("".join(f"const void *const {row} = (const void *)ccml_{row};\n" for row in wanted))
        build([*compiler, "-O2", "-ffunction-sections", "-c", source.name, "-o", "all.o"], folder)
        return {row: _section(f".text.ccml_{row}", machine, folder) for row in wanted}


def _section(name: str, machine: Machine, folder: Path) -> bytes:
    """The bytes of a section of the object, which must not have relocations."""
    command = [find_tool(f"{machine.abi.cross_compile}readelf"), "-S", "-W", "all.o"]
    sections = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert f".rel{name} " not in sections, f"{name} refers to other symbols"
    objcopy = find_tool(f"{machine.abi.cross_compile}objcopy")
    build([objcopy, "-O", "binary", f"--only-section={name}", "all.o", "one.bin"], folder)
    return (folder / "one.bin").read_bytes()


def table() -> dict[str, dict[tuple[str, ...], bytes]]:
    """The code of all block instructions, by name and by the architectures that share it."""
    codes = {architecture: assembled(machine) for architecture, machine in architectures().items()}
    found: dict[str, dict[tuple[str, ...], bytes]] = {}
    for row in BLOCKS:
        shared: dict[bytes, tuple[str, ...]] = {}
        for architecture in codes:
            if row in codes[architecture]:
                code = codes[architecture][row]
                shared[code] = (*shared.get(code, ()), architecture)
        if shared:
            found[row] = {architectures: code for code, architectures in shared.items()}
    return found


def table_text() -> str:
    """The table as a Python file."""
    lines = []
    for row, codes in table().items():
        lines.append(f'    "{row}": {{')
        for architectures, code in codes.items():
            digits = code.hex()
            names = str(architectures).replace("'", '"')
            lines.append(f"        {names}: (")
            lines += [f'            "{digits[at : at + _WIDTH]}"' for at in range(0, len(digits), _WIDTH)]
            lines.append("        ),")
        lines.append("    },")
    return _HEAD + "\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    TABLE.write_text(table_text())
