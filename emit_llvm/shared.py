"""Links objects into a shared library with whatever linker there is; no sysroot and no C library is needed."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import CcmlError, ErrorCode
from ..targets import Machine

_LLD_HINT = "install lld (ld.lld on PATH), or the Python package 'ziglang' (pip install 'ccml[zig]')"
_NATIVE_HINT = f"install a C compiler, or {_LLD_HINT}"


def link_shared(
    objects: Sequence[tuple[str, bytes]], machine: Machine, soname: str, exports: Sequence[str], out_path: Path
) -> None:
    """Writes the shared library ``out_path`` that exports just ``exports``.

    Uses the system's C compiler for the machine it runs on, else ``ld.lld``, else the linker of the ``ziglang``
    package. Raises ``CcmlError(TOOLCHAIN)`` where none is there or the link fails.
    """
    if not machine.target.hosted:
        raise CcmlError(ErrorCode.BAD_OPTION, f"target {machine.name} has no shared libraries")
    command = _linker(machine)
    if command is None:
        hint = _NATIVE_HINT if _is_native(machine) else _LLD_HINT
        raise CcmlError(ErrorCode.TOOLCHAIN, f"no linker for {machine.abi.triple}", hint=hint)
    with tempfile.TemporaryDirectory(prefix="ccml-") as folder:
        inputs = _write_inputs(Path(folder), objects)
        script = Path(folder, "exports.map")
        script.write_text(f"{{ global: {' '.join(f'{name};' for name in exports)} local: *; }};\n")
        flags = command.spell(_flags(machine, soname, script))
        _run([*command.argv, "-shared", *flags, "-o", str(out_path), *inputs])


@dataclass(frozen=True)
class _Linker:
    """A command line; ``driver``: a C compiler, which takes linker flags behind ``-Wl,``."""

    argv: tuple[str, ...]
    driver: bool = False

    def spell(self, flags: list[str]) -> list[str]:
        return ["-nostdlib", *(f"-Wl,{flag}" for flag in flags)] if self.driver else flags


def _is_native(machine: Machine) -> bool:
    linux = sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64")
    return linux and machine.abi.triple == "x86_64-unknown-linux-gnu"


def _linker(machine: Machine) -> _Linker | None:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if _is_native(machine) and compiler:
        return _Linker((compiler,), driver=True)
    if lld := shutil.which("ld.lld"):
        return _Linker((lld,))
    if importlib.util.find_spec("ziglang"):
        return _Linker((sys.executable, "-m", "ziglang", "ld.lld"))
    return None


def _flags(machine: Machine, soname: str, script: Path) -> list[str]:
    return [
        f"-soname={soname}", f"--version-script={script}", "--no-undefined", "--gc-sections", "--build-id=none",
        "--hash-style=both", "-zrelro", "-znow", "-znoexecstack", f"-zmax-page-size={machine.target.page_align}",
    ]  # fmt: skip


def _write_inputs(folder: Path, objects: Sequence[tuple[str, bytes]]) -> list[str]:
    """The objects as files under names of their own; the library does not depend on the names."""
    paths = []
    for number, (name, image) in enumerate(objects):
        path = folder / f"{number}-{name}"
        path.write_bytes(image)
        paths.append(str(path))
    return paths


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip() or f"exit code {done.returncode}"
        raise CcmlError(ErrorCode.TOOLCHAIN, f"linking failed: {reason}", hint=f"the command was: {' '.join(command)}")
