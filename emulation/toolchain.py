"""Runs compilers and emulators; what is missing or fails is an error for people."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..errors import CcmlError, ErrorCode

_HINT = "'ccml doctor' shows what is installed, and what would install it"


def find_tool(name: str) -> str:
    """The path of a program. Raises ``TOOLCHAIN`` where it is not installed."""
    path = shutil.which(name)
    if path is None:
        raise CcmlError(ErrorCode.TOOLCHAIN, f"{name} is not installed", hint=_HINT)
    return path


def run_tool(command: Sequence[str | Path], folder: Path, seconds: float = 600) -> subprocess.CompletedProcess[str]:
    """Runs ``command`` in ``folder``, whatever its exit code. Raises ``TOOLCHAIN`` if it takes longer than allowed."""
    argv = [str(part) for part in command]
    try:
        return subprocess.run(
            argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CcmlError(ErrorCode.TOOLCHAIN, f"{Path(argv[0]).name} did not end within {seconds:g} s") from None


def build(command: Sequence[str | Path], folder: Path) -> None:
    """Runs a compiler. Raises ``TOOLCHAIN`` with what it says where it fails."""
    done = run_tool(command, folder)
    if done.returncode:
        reason = done.stderr.strip() or f"exit code {done.returncode}"
        hint = f"the command was: {shlex.join(map(str, command))}"
        raise CcmlError(ErrorCode.TOOLCHAIN, f"building failed: {reason}", hint=hint)
