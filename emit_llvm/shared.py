"""Links objects into a library that is loaded, with whatever linker there is; no sysroot and no C library is needed."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..errors import CcmlError, ErrorCode
from ..record import record
from ..targets import ZIG, Library, Machine
from . import backend, coff
from .archive import static_library
from .system import stub_text, system_calls, text_stub

_ZIG_HINT = "the Python package 'ziglang' (pip install 'ccml[zig]')"


def link_library(
    objects: Sequence[tuple[str, bytes]], machine: Machine, name: str, exported: Sequence[str], out_path: Path,
    custom: bool = False,
) -> None:  # fmt: skip
    """Writes the library ``out_path`` of the model ``name``, which exports just these functions, the first being its
    entry. With ``custom`` operators among the objects, it may need the C library, where a C compiler links.

    Uses the system's C compiler for the machine it runs on, else LLD, else that of the ``ziglang`` package. Raises
    ``CcmlError(TOOLCHAIN)`` where none is there or the link fails.
    """
    library = machine.target.library
    if library is None:
        raise CcmlError(ErrorCode.BAD_OPTION, f"target {machine.name} has no libraries that are loaded")
    command = _linker(machine, library)
    if command is None:
        own = "" if library.linker == ZIG else f"install lld ({library.linker.command} on PATH), or "
        hint = f"{own}{_ZIG_HINT}"
        hint = f"install a C compiler, or {hint}" if _is_native(machine) else hint
        raise CcmlError(ErrorCode.TOOLCHAIN, f"no linker for {machine.abi.triple}", hint=hint)
    with tempfile.TemporaryDirectory(prefix="ccml-") as folder:
        inputs = _write_inputs(Path(folder), objects)
        build_id = _digest([Path(command.argv[-1]).name, name, *exported], [image for _, image in objects])
        flags = _flags(machine, library, name, exported, Path(folder), out_path.parent, build_id)
        called = system_calls((image for _, image in objects), machine)
        if called and library.c_library:
            inputs += _system_library(called, machine, library, command, Path(folder), objects[0][1])
        libraries = ["-Wl,--as-needed", "-lm", "-lc"] if custom and command.driver else []
        _run([*command.spell(flags), library.output.format(path=out_path), *inputs, *libraries], out_path, custom)


def _flags(
    machine: Machine, library: Library, name: str, exported: Sequence[str], folder: Path, out: Path, build_id: str
) -> list[str]:
    exports = folder / "exports.map"
    exports.write_text(f"{{ global: {' '.join(f'{symbol};' for symbol in exported)} local: *; }};\n")
    return library.linker_options(
        name, exported, exports=str(exports), target=machine.abi.linker_target, folder=str(out), build_id=build_id
    )


def _digest(words: Sequence[str], images: Sequence[bytes]) -> str:
    """SHA-1 of what a library is linked of, and how."""
    found = hashlib.sha1("\0".join(words).encode(), usedforsecurity=False)
    for image in images:
        found.update(len(image).to_bytes(8, "little"))
        found.update(image)
    return found.hexdigest()


def _system_library(
    functions: Sequence[str], machine: Machine, library: Library, command: _Linker, folder: Path,
    like: bytes,
) -> list[str]:  # fmt: skip
    """What to link with in place of the system's library: one of its name that has just the ``functions`` of it which
    the model calls, or for COFF and Mach-O that which says that they are in it, for the processor of the object
    ``like``."""
    if machine.abi.stub_target:
        # Of files for one library zig takes the first by name, and has a libSystem.tbd of its own, of macOS alone.
        path = folder / "0-system.tbd"
        path.write_text(text_stub(functions, library.c_library, machine.abi.stub_target))
        return [str(path)]
    if machine.abi.objects.comdat:
        members = coff.import_objects(library.c_library, functions, like)
        return _write_inputs(folder, [("system.lib", static_library(members))])
    inner = folder / "libc"
    inner.mkdir()
    generator = backend.target_machine(machine, reloc=backend.relocation(machine))
    image = generator.emit_object(backend.optimize(stub_text(functions, backend.triple(machine)), generator))
    build_id = _digest(functions, [image])
    flags = [*_flags(machine, library, "c", functions, inner, inner, build_id), f"-soname={library.c_library}"]
    path = inner / library.c_library
    _run([*command.spell(flags), library.output.format(path=path), *_write_inputs(inner, [("libc.o", image)])], path)
    return [str(path)]


@record
class _Linker:
    """A command line; ``driver``: a C compiler, which takes linker flags behind ``-Wl,``."""

    argv: tuple[str, ...]
    driver: bool = False

    def spell(self, flags: list[str]) -> list[str]:
        if not self.driver:
            return [*self.argv, *flags]
        return [*self.argv, "-nostdlib", *(flag if flag == "-shared" else f"-Wl,{flag}" for flag in flags)]


def _is_native(machine: Machine) -> bool:
    """Whether the C compiler of this computer links libraries for ``machine``: those for Linux on its processor."""
    return sys.platform == "linux" and platform.machine() in machine.abi.host_architectures


def _linker(machine: Machine, library: Library) -> _Linker | None:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if _is_native(machine) and compiler:
        return _Linker((compiler,), driver=True)
    if lld := shutil.which(library.linker.command):
        return _Linker((lld,))
    if importlib.util.find_spec("ziglang"):
        own = () if library.linker == ZIG else (library.linker.command,)
        return _Linker((sys.executable, "-m", "ziglang", *own))
    return None


def _write_inputs(folder: Path, objects: Sequence[tuple[str, bytes]]) -> list[str]:
    """The objects as files under names of their own; the library does not depend on the names."""
    paths = []
    for number, (name, image) in enumerate(objects):
        path = folder / f"{number}-{name}"
        path.write_bytes(image)
        paths.append(str(path))
    return paths


def _run(command: Sequence[str], out: Path, custom: bool = False) -> None:
    """Runs a linker that writes ``out``."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        out.unlink(missing_ok=True)  # what a linker has begun
    unknown = list(dict.fromkeys(re.findall(r"undefined symbol: (\w+)", done.stderr)))
    if unknown and custom:
        reason = f"a custom operator calls {', '.join(unknown)}, and no C library for this machine is linked"
        raise CcmlError(ErrorCode.TOOLCHAIN, reason, hint="build it with make, with a compiler that has one")
    if done.returncode:
        reason = done.stderr.strip() or f"exit code {done.returncode}"
        raise CcmlError(ErrorCode.TOOLCHAIN, f"linking failed: {reason}", hint=f"the command was: {' '.join(command)}")
