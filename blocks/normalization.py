"""Block instructions that normalize a row of bytes, with a factor and a bias for each element, on cores with packed
arithmetic or Helium."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..ir.build import store
from ..ir.loops import I32, Access, Block, Call, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, clamped, param, signed
from .instruction import DSP_FPU, MVE, BlockInstruction, Cycles

LARGEST_SHIFT = 31
SHIFT = 16
"""What sums of a product and a bias are shifted by: a halfword is left of them."""
LANES = 8
"""Elements that are normalized at a time with Helium."""


def lane_steps(steps: np.ndarray) -> np.ndarray:
    """Factors and biases [size, 2] as Helium takes them: of :data:`LANES` elements the factors of the even and the odd
    ones, then their biases; zeros where they fill no vector."""
    groups = -(-len(steps) // LANES)
    padded = np.zeros((groups * LANES, 2), steps.dtype)
    padded[: len(steps)] = steps
    return np.ascontiguousarray(padded.reshape(groups, LANES // 2, 2, 2).transpose(0, 3, 2, 1)).reshape(-1, 2)


Places = Callable[[Expr], tuple[Expr, Expr]]
"""Where the factor and the bias of an element are."""


def _side_by_side(i: Expr) -> tuple[Expr, Expr]:
    return i * 2, i * 2 + 1


def _in_lanes(i: Expr) -> tuple[Expr, Expr]:
    factor = i // LANES * (2 * LANES) + i % 2 * (LANES // 2) + i % LANES // 2
    return factor, factor + LANES


def _normalize_rows(rows: int, places: Places, unit: int, size: Number) -> Kernel:
    """``clamp((upper word of (x * multiplier + bias >> shift) * factor) + bias >> 16)``, column by column: ``scaling``
    has the multiplier, bias and shift of each row, ``steps`` for each column a factor and a bias, of a multiple of
    ``unit``."""
    x, y = param("x", DType.I8, size * rows, Access.READ), param("y", DType.I8, size * rows, Access.WRITE)
    scaling = param("scaling", DType.I32, 3 * rows, Access.READ, 4)
    i, (factor, offset) = Var("i"), places(Var("i"))
    steps = param("steps", DType.I32, (size + (unit - 1)) // unit * unit * 2, Access.READ, 4)
    lets: Block = ()
    columns: Block = ()
    for row in range(rows):
        names = (f"{name}{row or ''}" for name in ("multiplier", "bias", "shift", "normalized"))
        multiplier, bias, shift, normalized = (Var(name, I32) for name in names)
        lets += (Let(multiplier, scaling[3 * row]), Let(bias, scaling[3 * row + 1]))
        lets += (Let(shift, scaling[3 * row + 2] & LARGEST_SHIFT),)
        at = i + size * row if row else i
        total = Call("mul_high", (normalized, steps[factor]), I32) + steps[offset]
        element = Let(normalized, signed(x, at) * multiplier + bias >> shift)
        columns += (element, store(y[at], clamped(total >> SHIFT)))
    return Kernel("normalize_rows", (x, scaling, steps, y), (*lets, *loop(i, size, *columns)))


def _cycles(size: int, *_: int) -> float:
    return 66 + 38.5 * (size // 4) + 14 * (size % 4)


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "normalize_row", ("size",), partial(_normalize_rows, 1, _side_by_side, 1), DSP_FPU, ((15,), (8,)),
        cycles=Cycles(dsp=_cycles),
    ),
    BlockInstruction(
        "helium_normalize_row", ("size",), partial(_normalize_rows, 1, _in_lanes, LANES), MVE, ((21,), (16,), (3,)),
        cycles=Cycles(mve=lambda size: 50 + 25.5 * -(-size // LANES)),
    ),
    BlockInstruction(
        "helium_normalize_rows", ("size",), partial(_normalize_rows, 2, _in_lanes, LANES), MVE, ((21,), (16,), (3,)),
        cycles=Cycles(mve=lambda size: 60 + 51 * -(-size // LANES)), rows_together=True,
    ),
)
