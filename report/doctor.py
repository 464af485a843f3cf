"""What of the outside world ccml can use on this machine."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass

import llvmlite.binding as llvm

from ..emit_llvm.jit import host_machine
from ..errors import CcmlError

_SECONDS = 10


@dataclass(frozen=True)
class Tool:
    """A command, what it is for and how it is installed. ``version`` is ``None`` where it is not there."""

    command: str
    use: str
    install: str
    version: str | None = None


@dataclass(frozen=True)
class Examination:
    facts: dict[str, str]
    tools: list[Tool]


_TOOLS = (
    Tool("gcc", "builds the emitted C; links shared libraries; verify --backend c; profile", "apt install gcc"),
    Tool("clang", "builds the emitted C for any target; links shared libraries", "apt install clang"),
    Tool("make", "runs the emitted Makefile", "apt install make"),
    Tool("ld.lld", "links shared libraries for every hosted target, Android among them", "apt install lld"),
    Tool("arm-none-eabi-gcc", "builds the emitted C for Cortex-M", "apt install gcc-arm-none-eabi"),
    Tool("aarch64-linux-gnu-gcc", "builds the emitted C for 64-bit Arm Linux", "apt install gcc-aarch64-linux-gnu"),
    Tool("arm-linux-gnueabihf-gcc", "builds for 32-bit Arm Linux (tests)", "apt install gcc-arm-linux-gnueabihf"),
    Tool("qemu-system-arm", "emulates Cortex-M boards (profile, tests)", "apt install qemu-system-arm"),
    Tool("qemu-aarch64", "runs 64-bit Arm programs (tests)", "apt install qemu-user"),
    Tool("qemu-arm", "runs 32-bit Arm programs (tests)", "apt install qemu-user"),
)


def examine() -> Examination:
    """Looks for every tool and asks those that are there for their version."""
    tools = [Tool(tool.command, tool.use, tool.install, _version(tool.command)) for tool in _TOOLS]
    zig = Tool("ziglang", "links shared libraries where no other linker is", "pip install 'ccml[zig]'", _zig())
    return Examination(_facts(), [*tools, zig])


def _facts() -> dict[str, str]:
    try:
        machine = host_machine()
        host = f"{machine.name}, {machine.cpu.name}"
    except CcmlError as problem:
        host = problem.reason
    return {
        "ccml": importlib.metadata.version("ccml"),
        "Python": platform.python_version(),
        "LLVM": ".".join(map(str, llvm.llvm_version_info)),
        "onnx": importlib.metadata.version("onnx"),
        "this machine": host,
    }


def _version(command: str) -> str | None:
    path = shutil.which(command)
    if path is None:
        return None
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "does not answer"
    number = re.search(r"\d+\.\d+(\.\d+)*", done.stdout)
    return number.group() if number else "unknown"


def _zig() -> str | None:
    try:
        return importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError:
        return None
