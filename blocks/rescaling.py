"""Block instruction of sums of two runs of bytes in one scale on cores with DSP: residuals behind contractions."""

from __future__ import annotations

from ..ir.build import store
from ..ir.loops import I32, Access, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, clamped, param
from .instruction import DSP, BlockInstruction, Cycles

SHIFT = 20
"""Behind the multiplications."""
TOGETHER = 8
"""Elements that are read before one of them is written; a run has a multiple of them."""


def _rescale(count: Number, m1: Number, m2: Number, bias: Number) -> Kernel:
    """``clamp((x1 * m1 + x2 * m2 + bias) >> SHIFT)``."""
    x1, x2 = (param(name, DType.I8, count, Access.READ) for name in ("x1", "x2"))
    y, part = param("y", DType.I8, count, Access.WRITE), Var("part")
    places = [part * TOGETHER + n for n in range(TOGETHER)]
    bytes_ = [[Var(f"{x.name}_{n}", x.type) for n in range(TOGETHER)] for x in (x1, x2)]
    loads = (Let(byte, x[at]) for x, each in zip((x1, x2), bytes_) for byte, at in zip(each, places, strict=True))
    sums = (I32(a) * I32(m1) + I32(bias) + I32(b) * I32(m2) for a, b in zip(*bytes_, strict=True))
    stores = (store(y[at], clamped(total >> SHIFT)) for at, total in zip(places, sums, strict=True))
    return Kernel("rescale_run", (x1, x2, y), loop(part, count // TOGETHER, *loads, *stores))


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "rescale_run", ("count", "m1", "m2", "bias"), _rescale, DSP, ((24, 300_000, -500_001, 7_000_000),),
        cycles=Cycles(dsp=lambda count, *_: 40 + 7.2 * count), in_steps=TOGETHER,
    ),
)
