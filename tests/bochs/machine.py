"""A machine with AVX-512 where there is none: Linux in Bochs, which runs drivers, each in a folder of its own.

It takes Debian's packages bochs, bochs-term, cpio, isolinux, syslinux-common and xorriso, and a kernel, such as the
``vmlinuz`` of linux-image-cloud-amd64. A boot takes half a minute, and the guest some 50 million instructions a second.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

CPU = "tigerlake"
"""It has AVX-512 with VNNI. Bochs's Ice Lake halts while this kernel starts."""
DRIVER = "driver"
_TOOLS = ("bochs", "cpio", "xorriso", "gcc", "ldd")
_LOADERS = (Path("/usr/lib/ISOLINUX/isolinux.bin"), Path("/usr/lib/syslinux/modules/bios/ldlinux.c32"))
# Bochs's CPUID gives sizes of XSAVEC and XSAVES that the kernel does not believe; it would then do without AVX.
_KERNEL_OPTIONS = "console=ttyS0 clearcpuid=pku,xsaves,xsavec,umip,fsrm nokaslr mitigations=off panic=1"
_MENU = f"""default guest
prompt 0
label guest
 kernel /vmlinuz
 append initrd=/initrd {_KERNEL_OPTIONS}
"""
_CONFIGURATION = """display_library: term
sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy
speaker: enabled=0
cpu: model={cpu}, count=1, ips=50000000, ignore_bad_msrs=1
memory: guest=1024, host=1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path={folder}/guest.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev={folder}/console.txt
port_e9_hack: enabled=1
log: {folder}/bochs.log
panic: action=fatal
"""


@dataclass
class Ended:
    """How a driver ended, as ``wait`` says it, and the files that it wrote."""

    status: int
    files: dict[str, bytes] = field(default_factory=dict)


def run_drivers(folders: Mapping[str, Path], kernel: Path, seconds: float = 1800) -> dict[str, Ended]:
    """What became of the program ``driver`` in each of some folders, by their names. What it wrote is put there.

    Raises ``RuntimeError`` where tools are missing, or the guest has not come to its end after so many seconds.
    """
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    missing += [str(file) for file in (*_LOADERS, kernel) if not file.exists()]
    if missing:
        raise RuntimeError(f"not here: {', '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="ccml-bochs-") as name:
        folder = Path(name)
        _write_disk(folder, folders, kernel)
        ended = _read(_boot(folder, seconds))
    for name, end in ended.items():
        for file, content in end.files.items():
            (folders[name] / file).write_bytes(content)
    return ended


def _write_disk(folder: Path, folders: Mapping[str, Path], kernel: Path) -> None:
    """The image of a CD that starts ``kernel`` with all folders in its memory."""
    root, disk = folder / "root", folder / "disk"
    (disk / "isolinux").mkdir(parents=True)
    root.mkdir()
    for name, source in folders.items():
        shutil.copytree(source, root / "cases" / name)
    source = Path(__file__).with_name("guest.c")
    subprocess.run(["gcc", "-O2", "-static", source, "-o", root / "init"], check=True)
    for library in {library for source in folders.values() for library in _libraries(source / DRIVER)}:
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library[1:])
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*"))).encode()
    with (disk / "initrd").open("wb") as target:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names, stdout=target, check=True)
    shutil.copy(kernel, disk / "vmlinuz")
    for file in _LOADERS:
        shutil.copy(file, disk / "isolinux")
    (disk / "isolinux" / "isolinux.cfg").write_text(_MENU)
    loader = ["-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat", "-no-emul-boot", "-boot-load-size", "4"]
    made = ["xorriso", "-as", "mkisofs", "-quiet", "-o", folder / "guest.iso", *loader, "-boot-info-table", disk]
    subprocess.run(made, check=True, stderr=subprocess.DEVNULL)


def _libraries(program: Path) -> list[str]:
    found = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", found)


def _boot(folder: Path, seconds: float) -> list[str]:
    """The lines that Bochs prints until the guest says that it has ended."""
    (folder / "bochsrc").write_text(_CONFIGURATION.format(cpu=CPU, folder=folder))
    (folder / "commands").write_text("c\n")  # Debian's Bochs has its debugger, which waits for a command
    reader, writer = pty.openpty()
    command = ["bochs", "-q", "-f", folder / "bochsrc", "-rc", folder / "commands"]
    process = subprocess.Popen(
        command, stdin=writer, stdout=writer, stderr=writer, env={**os.environ, "TERM": "xterm"}, cwd=folder,
        start_new_session=True,
    )  # fmt: skip
    os.close(writer)
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    lines = []
    try:
        for line in _lines(reader):
            lines.append(line)
            screen = re.search(r'connected to screen "([^"]+)"', line)
            if screen:
                threading.Thread(target=_forget, args=(screen[1],), daemon=True).start()
            if line == "END":
                return lines
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        os.close(reader)
    console = folder / "console.txt"
    said = console.read_text(errors="replace")[-400:] if console.exists() else "nothing"
    raise RuntimeError(f"the guest did not come to its end; its console says {said}")


def _lines(reader: int) -> Iterator[str]:
    waiting = b""
    while True:
        try:
            found = os.read(reader, 1 << 16)
        except OSError:  # what a terminal gives when nobody writes to it any more
            return
        if not found:
            return
        *whole, waiting = (waiting + found).split(b"\n")
        yield from (line.decode(errors="replace").rstrip("\r") for line in whole)


def _forget(screen: str) -> None:
    """Reads what the guest shows: Bochs waits where nobody does."""
    with open(screen, "rb", buffering=0) as terminal:
        try:
            while terminal.read(1 << 16):
                pass
        except OSError:
            return


def _read(lines: list[str]) -> dict[str, Ended]:
    found: dict[str, Ended] = {}
    last = Ended(0)
    for line in lines:
        kind, *rest = line.split(" ")
        if kind == "CASE":
            last = found[rest[0]] = Ended(int(rest[1]))
        elif kind == "FILE":
            last.files[rest[0]] = bytes.fromhex(rest[1])
    return found
