"""Compares what a board printed with this machine's results and with the prediction of cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..costs.predict import Costs
from ..driver import Compiled
from ..emit_c.contract import contract_of
from ..errors import CcmlError, ErrorCode
from ..ir.identity import program_digest
from ..ir.program import Interface
from ..ir.types import DType
from ..packages.sample import encode_sample
from ..record import record
from .board_log import BoardLog
from .difference import Difference, difference


@record
class OutputRow:
    """An output compared; integers are in order where they equal this machine's."""

    tensor: str
    shape: tuple[int, ...]
    difference: Difference
    ok: bool


@record
class LayerRow:
    """A layer's ticks on the board, and the cycles that were predicted, where there is a prediction."""

    index: int
    node: str
    ticks: int
    predicted: int | None


@dataclass(frozen=True)
class BoardCheck:
    """A run on a board. ``ticks`` are ``hertz`` a second (0: not known), cycles of the core where ``is_cycles``; only
    these can be compared with the ``predicted`` cycles, which are typical ones between ``predicted_low`` and
    ``predicted_high``."""

    ok: bool
    target: str
    tolerance: float
    outputs: tuple[OutputRow, ...]
    layers: tuple[LayerRow, ...]
    ticks: int
    hertz: int
    is_cycles: bool
    predicted: int | None
    predicted_low: int | None
    predicted_high: int | None

    def require(self) -> None:
        """Raises ``MISMATCH`` that names the first output that differs, if one does."""
        for row in self.outputs:
            if not row.ok:
                reason = f"the board's result differs by {row.difference.relative_l2:.2e} (relative L2)"
                hint = f"'ccml verify MODEL --target {self.target}' runs the same code in emulation"
                raise CcmlError(ErrorCode.MISMATCH, reason, loc=row.tensor, hint=hint)


def compare_log(
    compiled: Compiled,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    log: BoardLog,
    costs: Costs | None,
    tolerance: float,
) -> BoardCheck:
    """The run of ``log`` beside ``outputs``, what this machine finds for ``inputs``, and the predicted ``costs``.

    Raises ``BAD_INPUT`` where the log is of another program or another sample, and ``MISMATCH`` where the model
    returned an error on the board.
    """
    program = compiled.program
    contract = contract_of(program)
    sample = encode_sample(program, inputs, outputs)
    if log.program != program_digest(program)[:16]:
        reason = f"the board ran another program (model {log.model}) than these options compile"
        hint = "give the options, the version of ccml and the --target of that compilation"
        raise CcmlError(ErrorCode.BAD_INPUT, reason, hint=hint)
    if log.sample != sample.digest:
        reason = "the board ran another sample"
        raise CcmlError(ErrorCode.BAD_INPUT, reason, hint="--input FILE: the one that the package was compiled with")
    if log.status:
        named = next((f"{contract.macro}_{name}" for name, code, _ in contract.errors if code == log.status), "")
        raise CcmlError(ErrorCode.MISMATCH, f"the model returned the error {log.status} on the board", loc=named)
    rows = tuple(
        _compared(side, log.outputs.get(number, b""), expected, tolerance)
        for number, (side, expected) in enumerate(zip(program.outputs, sample.expected, strict=True))
    )
    layers = tuple(
        LayerRow(number, call.loc, log.layers[number], _predicted(costs, number) if log.is_cycles else None)
        for number, call in enumerate(program.calls)
        if number in log.layers
    )
    predicted = costs.cycles if costs is not None and log.is_cycles else None
    return BoardCheck(
        ok=all(row.ok for row in rows),
        target=compiled.machine.name,
        tolerance=tolerance,
        outputs=rows,
        layers=layers,
        ticks=log.run,
        hertz=log.hertz,
        is_cycles=log.is_cycles,
        predicted=None if predicted is None else int(predicted.typical),
        predicted_low=None if predicted is None else int(predicted.low),
        predicted_high=None if predicted is None else int(predicted.high),
    )


def _predicted(costs: Costs | None, number: int) -> int | None:
    """The typical cycles of a layer, where there is a prediction."""
    cycles = None if costs is None or costs.layers is None else costs.layers[number].cycles
    return None if cycles is None else int(cycles.typical)


def _compared(side: Interface, found: bytes, expected: bytes, tolerance: float) -> OutputRow:
    if len(found) != len(expected):
        reason = f"the board printed {len(found)} bytes of an output of {len(expected)}"
        raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=side.name)
    dtype = np.dtype(np.uint8) if side.type.dtype is DType.CHAR else side.type.dtype.numpy
    apart = difference(np.frombuffer(found, dtype), np.frombuffer(expected, dtype))
    exact = not (side.type.dtype.is_float or side.type.dtype.is_narrow)
    ok = found == expected if exact else apart.relative_l2 <= tolerance
    return OutputRow(side.name, side.type.shape, apart, ok)
