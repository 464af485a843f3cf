"""Block instructions of linear interpolation of bytes on cores with packed arithmetic, two channels in a word: between
two rows into a line, and from there between columns to bytes.

A line has two words for each four channels: sums of the channels 0 and 2, then of 1 and 3, each of bytes plus 128 by
weights that are not negative. As long as sums stay below 2^15, a product of a word and a weight is that of both halves.
A result is ``clamp((sum * factor >> 16) + bias >> 16, -128, 127)``.
"""

from __future__ import annotations

from ..ir.build import minimum, store
from ..ir.loops import I16, I32, I64, INDEX, U32, Access, Block, Buffer, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, clamped, halves, param, signed
from .instruction import DSP, DSP_FPU, BlockInstruction, Cycles, linear

FOUR = 4
"""Channels that two words of a line have."""
SIGNS = 128
"""What is added to bytes."""
SHIFT = 16


def _line(words: Number) -> Kernel:
    """Four bytes of either row at a time; ``down`` has the weights of the rows."""
    rows = [param(f"x{n}", DType.I8, words * FOUR, Access.READ) for n in range(2)]
    down, line = param("down", DType.I32, 2, Access.READ, 4), param("line", DType.I32, words * 2, Access.WRITE, 4)
    word, weights = Var("word"), [Var(f"w{n}", I32) for n in range(2)]

    def pair(x: Buffer, first: int) -> Expr:
        low, high = (signed(x, word * FOUR + lane) + SIGNS for lane in (first, first + 2))
        return halves(low, high)

    stores = (
        store(line[word * 2 + n], pair(rows[0], n) * weights[0] + pair(rows[1], n) * weights[1]) for n in range(2)
    )
    lets = (Let(weight, down[n]) for n, weight in enumerate(weights))
    return Kernel("interpolate_line", (*rows, down, line), (*lets, *loop(word, words, *stores)))


def _pixels(pixels: Number, last: Number, words: Number, factor: Number, bias: Number) -> Kernel:
    """A row of pixels of ``words`` times four channels, of a line of ``last + 1`` pixels: ``across`` are for each pixel
    the weights of the two pixels ``places`` (of which those beyond the end are the last)."""
    line = param("line", DType.I32, (last + 1) * words * 2, Access.READ, 4)
    places, across = (param(name, DType.I32, pixels * 2, Access.READ, 4) for name in ("places", "across"))
    y, pixel, word = param("y", DType.I8, pixels * words * FOUR, Access.WRITE), Var("pixel"), Var("word")
    starts, weights = ([Var(f"{stem}{n}", type_) for n in range(2)] for stem, type_ in (("start", INDEX), ("w", I32)))
    lets: list[Let] = []
    for n in range(2):
        lets.append(Let(starts[n], INDEX(minimum(U32(places[pixel * 2 + n]), U32(last))) * (words * 2)))
        lets.append(Let(weights[n], across[pixel * 2 + n]))
    sums = [Var(f"sums{odd}", I32) for odd in range(2)]
    block: Block = tuple(
        Let(each, line[starts[0] + word * 2 + odd] * weights[0] + line[starts[1] + word * 2 + odd] * weights[1])
        for odd, each in enumerate(sums)
    )
    for lane in range(FOUR):
        both = sums[lane % 2]
        half = both >> 16 if lane // 2 else I32(I16(both))
        scaled = I32(I64(half) * I64(I32(factor)) >> SHIFT) + I32(bias)
        block += (store(y[(pixel * words + word) * FOUR + lane], clamped(scaled >> SHIFT)),)
    body = loop(pixel, pixels, *lets, *loop(word, words, *block))
    return Kernel("interpolate_pixels", (line, places, across, y), body)


def _pixels_cycles(pixels: int, _: int, words: int, *__: int) -> float:
    return 57 + pixels * (37 + 22.6 * words)


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction("interpolate_line", ("words",), _line, DSP, ((5,), (2,)), cycles=Cycles(dsp=linear(51, 16))),
    BlockInstruction(
        "interpolate_pixels", ("pixels", "last", "words", "factor", "bias"), _pixels, DSP_FPU,
        ((5, 3, 3, 2**27 + 12345, -70000), (2, 0, 2, 2**30 - 1, 2**20 + 3)), cycles=Cycles(dsp=_pixels_cycles),
    ),
)  # fmt: skip
