"""What of the outside world ccml can use on this machine."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shutil
import subprocess
from dataclasses import replace

import llvmlite.binding as llvm

from .. import __version__, targets
from ..emit_llvm.jit import host_machine
from ..errors import CcmlError
from ..record import record
from ..targets import TARGETS

_SECONDS = 10


@record
class Tool:
    """A command, what it is for and how it is installed. ``version`` is ``None`` where it is not there."""

    command: str
    use: str
    install: str
    version: str | None = None


@record
class Examination:
    facts: dict[str, str]
    tools: list[Tool]


_ANYWHERE = (
    Tool("gcc", "builds the emitted C; links shared libraries; verify --backend c; profile", "apt install gcc"),
    Tool("clang", "builds the emitted C for any target; links libraries", "apt install clang"),
    Tool("make", "runs the emitted Makefile", "apt install make"),
    Tool("javac", "compiles the classes of --bindings java and --package aar", "apt install default-jdk-headless"),
    Tool(targets.ZIG.command, "links libraries for every system, without their kits", targets.ZIG.install),
)
"""What is of use whatever the target."""


PYTHON_PACKAGES = (
    Tool("pillow", "reads images as calibration data", "pip install 'ccml[image]'"),
    Tool("distributed", "has a cluster measure for ccml.tune", "pip install 'ccml[farm]'"),
    Tool("tflite", "reads TensorFlow Lite models, with flatbuffers", "pip install 'ccml[tflite]'"),
    Tool("flatbuffers", "reads TensorFlow Lite models, with tflite", "pip install 'ccml[tflite]'"),
    Tool("torch", "exports programs of PyTorch (.pt2)", "pip install torch onnxscript"),
    Tool("keras", "exports models of Keras (.keras)", "pip install 'keras>=3.12' tensorflow tf2onnx"),
    Tool("mkdocs", "makes a site of ccml's documentation", "pip install 'ccml[docs]'"),
    Tool("pytest", "runs ccml's own tests", "pip install 'ccml[test]'"),
    Tool("ruff", "checks ccml's own code, with mypy", "pip install 'ccml[lint]'"),
)
"""Python packages."""

_IN_PACKAGES = {targets.ZIG.command: "ziglang"}
"""Commands that a Python package brings without putting them on the path."""


def examine() -> Examination:
    """Looks for every tool and asks those that are there for their version."""
    tools = [replace(tool, version=_version(tool.command)) for tool in (*_ANYWHERE, *_of_targets())]
    packages = [replace(tool, version=_installed(tool.command)) for tool in PYTHON_PACKAGES]
    return Examination(_facts(), [*tools, *packages])


def _of_targets() -> list[Tool]:
    """The compilers, linkers and emulators that the targets name, with the families that each is for."""
    uses: dict[targets.Tool, tuple[str, list[str]]] = {}
    for target in TARGETS:
        linkers = [(target.library.linker, "links libraries for")] if target.library else []
        for abi in target.abis:
            environment = abi.environment
            named = [(abi.gcc, "builds the emitted C for"), (environment.compiler, "builds programs for")]
            runs = [(environment.emulator, "runs programs for")] if environment.emulator else []
            for tool, use in (*linkers, *named, *runs):
                families = uses.setdefault(tool, (use, []))[1]
                if target.family not in families:
                    families.append(target.family)
    usual = {tool.command for tool in _ANYWHERE}
    return [
        Tool(tool.command, f"{use} {', '.join(families)}", tool.install)
        for tool, (use, families) in uses.items()
        if tool.command not in usual
    ]


def _facts() -> dict[str, str]:
    try:
        machine = host_machine()
        host = f"{machine.name}, {machine.cpu.name}"
    except CcmlError as problem:
        host = problem.reason
    return {
        "ccml": __version__,
        "Python": platform.python_version(),
        "LLVM": ".".join(map(str, llvm.llvm_version_info)),
        "onnx": importlib.metadata.version("onnx"),
        "this machine": host,
    }


def _version(command: str) -> str | None:
    path = shutil.which(command)
    if path is None:
        return _installed(_IN_PACKAGES[command]) if command in _IN_PACKAGES else None
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "does not answer"
    number = re.search(r"\d+\.\d+(\.\d+)*", done.stdout) or re.search(r"(?<=\) )\d+", done.stdout)
    return number.group() if number else "unknown"


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
