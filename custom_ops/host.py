"""Custom operators compiled for this machine, by its C compiler, into this process."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from ..errors import CcmlError, ErrorCode
from ..ir.foreign import Foreign
from ..ir.loops import Kernel
from .unit import VISIBLE, expected, source_files

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O2", "-ffp-contract=off", "-fno-math-errno", "-Wno-unknown-pragmas")
"""Every operation is rounded by itself, as in the code around it."""
SHOWN_LINES = 6
_SECONDS = 300


class HostLibrary:
    """Foreign kernels in executable memory, for as long as this object lives; ``functions`` maps symbols to addresses.

    Raises ``TOOLCHAIN`` where there is no C compiler, and ``BAD_OPTION`` with what it says where it fails.
    """

    def __init__(self, kernels: Mapping[str, Kernel]) -> None:
        compiler = _compiler(next(iter(kernels.values())))
        with tempfile.TemporaryDirectory(prefix="ccml-") as name:
            folder = Path(name)
            for file, text in source_files(kernels, "custom", VISIBLE).items():
                (folder / file).write_text(text, encoding="utf-8")
            objects = [str(_compiled(compiler, folder, symbol, kernel)) for symbol, kernel in kernels.items()]
            library = folder / "custom.so"
            _run([*compiler, "-shared", *objects, "-lm", "-o", str(library)], next(iter(kernels.values())))
            try:
                self._library = ctypes.CDLL(str(library))
            except OSError as problem:
                reason = f"its C calls what is not there: {str(problem).rpartition(': ')[2]}"
                raise _refused(next(iter(kernels.values())), reason) from problem
        addresses = ((symbol, ctypes.cast(self._library[symbol], ctypes.c_void_p).value) for symbol in kernels)
        self.functions = {symbol: address for symbol, address in addresses if address is not None}


@lru_cache(maxsize=64)
def host_function(kernel: Kernel) -> tuple[HostLibrary, Callable[..., None]]:
    """One kernel, to be called with a pointer for each parameter, and the library that has to live as long."""
    library = HostLibrary({"ccml_custom": kernel})
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kernel.params))
    return library, signature(library.functions["ccml_custom"])


def _compiler(kernel: Kernel) -> list[str]:
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    if found is not None:
        return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    hint = "install gcc or clang, or the Python package 'ziglang' (pip install 'ccml[zig]')"
    reason = f"no C compiler for the custom operator {_foreign(kernel).operator} on this machine"
    raise CcmlError(ErrorCode.TOOLCHAIN, reason, hint=hint)


def _compiled(compiler: Sequence[str], folder: Path, symbol: str, kernel: Kernel) -> Path:
    target = folder / f"{symbol}.o"
    _run([*compiler, "-std=c99", "-fPIC", *FLAGS, "-c", str(folder / f"{symbol}.c"), "-o", str(target)], kernel)
    return target


def _run(command: Sequence[str], kernel: Kernel) -> None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _refused(kernel, f"the compiler did not end within {_SECONDS} s") from None
    if done.returncode:
        raise compile_error(kernel, done.stderr)


def compile_error(kernel: Kernel, said: str) -> CcmlError:
    """The error for C that a compiler refuses, with the first lines of what it ``said`` about the user's file."""
    file = _foreign(kernel).file
    errors = [line for line in said.splitlines() if "error" in line or "undefined" in line]
    lines = [line[max(line.find(file), 0) :] for line in errors][:SHOWN_LINES]
    return _refused(kernel, "\n  ".join(["it does not compile:", *(lines or said.splitlines()[:SHOWN_LINES])]))


_MISSING_HEADER = re.compile(r"fatal error: '?([\w./]+)'?(: No such file|\s*' file not found| file not found)")


def _refused(kernel: Kernel, reason: str) -> CcmlError:
    foreign = _foreign(kernel)
    hint = f"for this node the function has to be\n  {expected(foreign)}"
    missing = _MISSING_HEADER.search(reason)
    if missing is not None:
        hint = f"the compiler has no {missing[1]}: there may be no C library for this machine"
    return CcmlError(ErrorCode.BAD_OPTION, f"{foreign.operator}: {reason}", loc=foreign.file, hint=hint)


def _foreign(kernel: Kernel) -> Foreign:
    assert kernel.foreign is not None
    return kernel.foreign
