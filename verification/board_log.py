"""What the application of a package printed on a board: lines that begin with ``ccml:``, among whatever others.

A log is untrusted: it is read up to a limit, lines are short, numbers are bounded, and a checksum tells whether lines
are missing. The grammar, with the words in this order:

    log 1                      the version of the grammar
    model NAME
    program DIGEST             what was compiled (``program_digest``)
    sample DIGEST              what it ran on (``Sample.digest``)
    clock HERTZ cycles|time    ticks a second (0: not known), and whether they are cycles of the core
    layer NUMBER TICKS         of each layer, where they were measured
    run TICKS
    status CODE                what the run function returned
    output NUMBER HEX          up to 32 bytes of an output; its lines follow each other
    end CRC                    CRC-32 of the lines before, each behind "ccml: " and with a line feed
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from ..errors import CcmlError, ErrorCode
from ..record import record

MARK = "ccml: "
_MOST_BYTES = 64 << 20
_MOST_COLUMNS = 256
_VERSION = "1"

_LINES = {
    "log": re.compile(r"(\d{1,9})"),
    "model": re.compile(r"(\w{1,64})"),
    "program": re.compile(r"([0-9a-f]{16})"),
    "sample": re.compile(r"([0-9a-f]{8})"),
    "clock": re.compile(r"(\d{1,10}) (cycles|time)"),
    "layer": re.compile(r"(\d{1,6}) (\d{1,20})"),
    "run": re.compile(r"(\d{1,20})"),
    "status": re.compile(r"(\d{1,10})"),
    "output": re.compile(r"(\d{1,6}) ((?:[0-9a-f]{2}){1,32})"),
    "end": re.compile(r"([0-9a-f]{8})"),
}
_NEEDED = ("model", "program", "sample", "clock", "run", "status")


@record
class BoardLog:
    """A run on a board. ``layers`` maps numbers of layers to ticks, ``outputs`` the number of an output to its bytes.

    ``hertz`` is the number of ticks in a second, 0 where it is not known; ``is_cycles``: a tick is a cycle of the core.
    """

    model: str
    program: str
    sample: str
    hertz: int
    is_cycles: bool
    run: int
    status: int
    layers: dict[int, int] = field(default_factory=dict)
    outputs: dict[int, bytes] = field(default_factory=dict)


def read_log(path: Path) -> BoardLog:
    """The last complete run in the file.

    Raises ``BAD_INPUT`` where the file cannot be read, holds none, or the lines of all are damaged.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except OSError as problem:
        reason = f"cannot read the file: {problem.strerror or problem}"
        raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=str(path)) from problem
    if len(content) > _MOST_BYTES:
        reason = f"a log of more than {_MOST_BYTES >> 20} MiB"
        raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=str(path), hint="keep its last lines")
    wrong, last = "no line with 'ccml: log'", None
    for lines in _runs(content):
        try:
            last = parse_run(lines)
        except ValueError as problem:
            wrong = str(problem)
    if last is None:
        hint = "save all that the application of 'ccml compile --package' prints"
        raise CcmlError(ErrorCode.BAD_INPUT, f"no complete run: {wrong}", loc=str(path), hint=hint)
    return last


def _runs(content: bytes) -> Iterator[list[str]]:
    """The lines of each run, from ``log`` to the line before the next one, without the mark."""
    found: list[str] = []
    for line in content.decode("utf-8", "replace").splitlines():
        at = line.find(MARK)
        if at < 0:
            continue
        text = line[at + len(MARK) :][:_MOST_COLUMNS].rstrip()
        if text.startswith("log ") and found:
            yield found
            found = []
        if found or text.startswith("log "):
            found.append(text)
    if found:
        yield found


def parse_run(lines: list[str]) -> BoardLog:
    """The run that ``lines`` tell. Raises ``ValueError`` that says what is wrong with them."""
    values: dict[str, tuple[str, ...]] = {}
    layers: dict[int, int] = {}
    outputs: dict[int, list[str]] = {}
    checksum = 0
    for number, line in enumerate(lines):
        key, _, rest = line.partition(" ")
        match = _LINES[key].fullmatch(rest) if key in _LINES else None
        if match is None:
            raise ValueError(f"line {number + 1} of it is damaged")
        if key == "end":
            if f"{checksum:08x}" != match[1]:
                raise ValueError("lines are missing or damaged: the checksum differs")
            break
        checksum = zlib.crc32(f"{line}\n".encode(), checksum)
        if key == "layer":
            layers[int(match[1])] = int(match[2])
        elif key == "output":
            outputs.setdefault(int(match[1]), []).append(match[2])
        else:
            values[key] = match.groups()
    else:
        raise ValueError("its last line is missing")
    if values["log"] != (_VERSION,):
        raise ValueError(f"it is of version {values['log'][0]}, this ccml knows {_VERSION}")
    missing = [key for key in _NEEDED if key not in values]
    if missing:
        raise ValueError(f"it has no line '{missing[0]}'")
    return BoardLog(
        model=values["model"][0],
        program=values["program"][0],
        sample=values["sample"][0],
        hertz=int(values["clock"][0]),
        is_cycles=values["clock"][1] == "cycles",
        run=int(values["run"][0]),
        status=int(values["status"][0]),
        layers=layers,
        outputs={number: bytes.fromhex("".join(parts)) for number, parts in outputs.items()},
    )
