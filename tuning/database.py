"""What was measured, one JSON object a line: files may be appended to, joined and merged as text.

Times of different machines cannot be compared, nor those of one machine on different days: a record holds what the cost
model's choice took in the same measurement, and what counts are the ratios.
"""

from __future__ import annotations

import json
import logging
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from enum import Enum
from pathlib import Path

from .. import __version__
from ..errors import CcmlError, ErrorCode
from ..record import record
from ..schedule.decision import MOST_CHUNKS, BlockShape, Decision, Tuned

log = logging.getLogger(__name__)

SCHEMA = 1
WORTH = 0.99
"""The ratio from which on a decision is no better than the cost model's choice, as far as can be measured."""
_LARGEST = 256 << 20
"""Bytes of a file: some 500,000 records."""
_LONGEST = 1 << 14
"""Characters of a line."""


class Meter(Enum):
    """How something was measured: the ``TIME`` that it took, in seconds; its ``CYCLES``, predicted from machine code;
    or the ``ESTIMATE`` of a model of the core's ports, in cycles."""

    TIME = "time"
    CYCLES = "cycles"
    ESTIMATE = "estimate"

    @property
    def unit(self) -> str:
        """``s`` or ``cycles``."""
        return "s" if self is Meter.TIME else "cycles"


@record
class Record:
    """One measurement of a decision about a kernel.

    ``kernel`` and ``machine`` are its keys (``schedule/decision.py``), ``version`` that of ccml, ``about`` says in
    words what it computes. ``value`` is what it took, ``reference`` what the cost model's choice did, in the unit of
    ``meter``; ``processor`` is where. ``in_model``: within the runs of a whole model.
    """

    kernel: str
    machine: str
    version: str
    about: str
    decision: Decision
    meter: Meter
    value: float
    reference: float
    processor: str
    in_model: bool = False

    @property
    def ratio(self) -> float:
        """To the cost model's choice; below 1 is faster."""
        return self.value / self.reference

    def line(self) -> str:
        """The record as a line of a file."""
        data = {"schema": SCHEMA, **asdict(self), "meter": self.meter.value}
        return json.dumps(data, separators=(",", ":"), sort_keys=True) + "\n"


def read_records(path: str | Path) -> list[Record]:
    """All records of a file. Raises ``BAD_INPUT`` that names the line which is none."""
    file = Path(path)
    try:
        if file.stat().st_size > _LARGEST:
            raise CcmlError(ErrorCode.BAD_INPUT, f"more than {_LARGEST >> 20} MiB", loc=str(path))
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = f"the database of measurements cannot be read: {problem}"
        raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=str(path), hint="'ccml tune' makes one") from None
    return [_record(line, f"{path}, line {number}") for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def append_records(path: str | Path, records: Iterable[Record]) -> None:
    """Adds records to a file, which is made if need be. Raises ``OUTPUT_FOLDER``."""
    try:
        with Path(path).open("a", encoding="utf-8", newline="\n") as stream:
            stream.write("".join(record.line() for record in records))
    except OSError as problem:
        raise CcmlError(ErrorCode.OUTPUT_FOLDER, f"cannot be written: {problem.strerror}", loc=str(path)) from None


def _record(line: str, where: str) -> Record:
    try:
        if len(line) > _LONGEST:
            raise ValueError("the line is too long")
        data = json.loads(line)
        if data.pop("schema") != SCHEMA:
            raise ValueError("written by another version of ccml")
        record = Record(**{**data, "decision": _decision(data["decision"]), "meter": Meter(data["meter"])})
        texts = (record.kernel, record.machine, record.version, record.about, record.processor)
        numbers = (record.value, record.reference)
        if not all(isinstance(text, str) for text in texts) or not isinstance(record.in_model, bool):
            raise TypeError("a field has another type")
        if not all(isinstance(number, (int, float)) and 0 < number < math.inf for number in numbers):
            raise ValueError("measurements are positive numbers")
        return record
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        reason = f"no record of a measurement: {str(problem).strip() or type(problem).__name__}"
        raise CcmlError(ErrorCode.BAD_INPUT, reason[:200], loc=where) from None


def _decision(data: Mapping[str, object]) -> Decision:
    shape, tiles, generator = data["shape"], data["tiles"], data["generator"]
    if len(data) != len(fields(Decision)) or not isinstance(generator, str):
        raise ValueError("a decision has a generator, a shape, tiles, a form and chunks")
    form, chunks = _number(data["form"], 0, 1 << 16), _number(data["chunks"], 1, MOST_CHUNKS)
    if shape is not None and not isinstance(shape, dict):
        raise ValueError("the shape of a decision is an object")
    block = None if shape is None else BlockShape(**shape)
    if block is not None and not block.valid:
        raise ValueError("the shape of a decision is none that code has")
    if tiles is None:
        return Decision(generator, block, form=form, chunks=chunks)
    if not isinstance(tiles, list) or len(tiles) != 3 or not all(type(n) is int and 1 <= n < 1 << 16 for n in tiles):
        raise ValueError("tiles are three positive integers")
    return Decision(generator, block, (tiles[0], tiles[1], tiles[2]), form, chunks)


def _number(value: object, least: int, most: int) -> int | None:
    if value is None or (type(value) is int and least <= value <= most):
        return value
    raise ValueError(f"a form and chunks are numbers from {least} to {most}")


def ratios(records: Iterable[Record]) -> dict[str, dict[Decision, float]]:
    """For kernels by their keys, what decisions take in proportion to the cost model's choice: the geometric mean over
    processors of the last measurement on each. What was measured within a model counts more than what was alone."""
    last: dict[tuple[str, Decision, bool], dict[str, float]] = defaultdict(dict)
    for measured in records:
        last[measured.kernel, measured.decision, measured.in_model][measured.processor] = measured.ratio
    found: dict[str, dict[Decision, float]] = defaultdict(dict)
    for (kernel, decision, in_model), each in sorted(last.items(), key=lambda item: item[0][2]):
        del in_model  # sorted: these come last, and replace the others
        found[kernel][decision] = math.exp(sum(map(math.log, each.values())) / len(each))
    return dict(found)


def read_decisions(path: str | Path) -> Tuned:
    """The decisions of a file of measurements (``ccml tune``), for ``Goal.tuned``: of each kernel the best, where that
    is better than the cost model's choice. Measurements by other versions of ccml do not count.

    Raises ``BAD_INPUT`` that names the line which is no measurement.
    """
    return best_decisions(read_records(path), __version__)


def best_decisions(records: Sequence[Record], current_version: str) -> Tuned:
    """The best decision for each kernel that has one better than the cost model's choice, of the records of this
    version; times come before predictions."""
    current = [record for record in records if record.version == current_version]
    if len(current) < len(records):
        log.warning("%d measurements of other versions of ccml are not used", len(records) - len(current))
    timed = {record.kernel for record in current if record.meter is Meter.TIME}
    counted = [record for record in current if (record.kernel in timed) == (record.meter is Meter.TIME)]
    found = {kernel: min(each.items(), key=lambda item: item[1]) for kernel, each in ratios(counted).items()}
    return {kernel: decision for kernel, (decision, ratio) in found.items() if ratio < WORTH}
