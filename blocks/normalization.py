"""The block instruction that normalizes a row of bytes, with a factor and a bias for each element, on cores with packed
arithmetic."""

from __future__ import annotations

from ..ir.build import store
from ..ir.loops import I32, Access, Call, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, clamped, param, signed
from .instruction import DSP_FPU, BlockInstruction, Cycles

LARGEST_SHIFT = 31
SHIFT = 16
"""What sums of a product and a bias are shifted by: a halfword is left of them."""


def _normalize_row(size: Number) -> Kernel:
    """``clamp((upper word of (x * multiplier + bias >> shift) * factor) + bias >> 16)``: ``scaling`` has the
    multiplier, bias and shift of the row, ``steps`` for each element a factor and a bias."""
    x, y = param("x", DType.I8, size, Access.READ), param("y", DType.I8, size, Access.WRITE)
    scaling = param("scaling", DType.I32, 3, Access.READ, 4)
    steps, i = param("steps", DType.I32, size * 2, Access.READ, 4), Var("i")
    multiplier, bias, shift, normalized = (Var(name, I32) for name in ("multiplier", "bias", "shift", "normalized"))
    lets = (Let(multiplier, scaling[0]), Let(bias, scaling[1]), Let(shift, scaling[2] & LARGEST_SHIFT))
    total = Call("mul_high", (normalized, steps[i * 2]), I32) + steps[i * 2 + 1]
    element = Let(normalized, signed(x, i) * multiplier + bias >> shift)
    body = loop(i, size, element, store(y[i], clamped(total >> SHIFT)))
    return Kernel("normalize_row", (x, scaling, steps, y), (*lets, *body))


def _cycles(size: int, *_: int) -> float:
    return 66 + 38.5 * (size // 4) + 14 * (size % 4)


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("normalize_row", ("size",), _normalize_row, DSP_FPU, ((15,), (8,)), cycles=Cycles(dsp=_cycles)),
)
