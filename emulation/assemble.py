"""Machine code of the hand-written assembly in ``runtime_c``, for compilers that cannot assemble it themselves.

    python -m ccml.emulation.assemble

writes ``emit_llvm/machine_code.py`` anew, after a change of the assembly; a test compares them.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from ..ir.blocks import BLOCKS
from .toolchain import build, find_tool

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ROOT / "runtime_c"
TABLE = ROOT / "emit_llvm" / "machine_code.py"
ARCHITECTURES = {"thumbv6m": "cortex-m0", "thumbv7m": "cortex-m3"}
"""A core for each beginning of a triple."""

_WIDTH = 100
_HEAD = '''"""Block instructions as machine code, in hexadecimal: what the assembly in ``runtime_c`` becomes.

Written by ``python -m ccml.emulation.assemble``. The code is independent of its address, which is a multiple of 4, and
calls nothing.
"""

MACHINE_CODE: dict[str, dict[str, str]] = {
'''


def assembled(architecture: str) -> dict[str, bytes]:
    """The block instructions that are nothing but assembly on ``architecture``, by name."""
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        folder = Path(name)
        headers = [f"ccml_{row}.h" for row in BLOCKS if (RUNTIME / f"ccml_{row}.h").exists()]
        wanted = [row for row in BLOCKS if _is_assembly(architecture, row, folder)]
        lines = [*(f'#include "{header}"' for header in headers), "const void *const all[] = {"]
        lines += [*(f"    (const void *)ccml_{row}," for row in wanted), "    0};"]
        _compile(architecture, lines, folder)
        return {row: _section(f".text.ccml_{row}", folder) for row in wanted}


def _is_assembly(architecture: str, row: str, folder: Path) -> bool:
    """Whether the preprocessed header makes the row's function a naked one."""
    header = RUNTIME / f"ccml_{row}.h"
    if not header.exists():
        return False
    flags = [f"-mcpu={ARCHITECTURES[architecture]}", "-mthumb", "-mfloat-abi=soft", f"-I{RUNTIME}"]
    command = [find_tool("arm-none-eabi-gcc"), *flags, "-E", str(header)]
    text = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return re.search(rf"naked[^;{{}}]*void ccml_{row}\(", text) is not None


def _compile(architecture: str, lines: list[str], folder: Path) -> None:
    (folder / "all.c").write_text("\n".join(lines) + "\n")
    flags = [f"-mcpu={ARCHITECTURES[architecture]}", "-mthumb", "-mfloat-abi=soft", "-O2", "-ffunction-sections"]
    build([find_tool("arm-none-eabi-gcc"), *flags, f"-I{RUNTIME}", "-c", "all.c", "-o", "all.o"], folder)


def _section(name: str, folder: Path) -> bytes:
    """The bytes of a section of the object, which must not have relocations."""
    command = [find_tool("arm-none-eabi-readelf"), "-S", "-W", "all.o"]
    sections = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert f".rel{name} " not in sections, f"{name} refers to other symbols"
    build([find_tool("arm-none-eabi-objcopy"), "-O", "binary", f"--only-section={name}", "all.o", "one.bin"], folder)
    return (folder / "one.bin").read_bytes()


def table_text() -> str:
    """The table as a Python file."""
    lines = []
    for architecture in ARCHITECTURES:
        lines.append(f'    "{architecture}": {{')
        for row, code in assembled(architecture).items():
            digits = code.hex()
            parts = [digits[at : at + _WIDTH] for at in range(0, len(digits), _WIDTH)]
            lines += [f'        "{row}": (', *(f'            "{part}"' for part in parts), "        ),"]
        lines.append("    },")
    return _HEAD + "\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    TABLE.write_text(table_text())
