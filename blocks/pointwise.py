"""Block instructions of contractions of few channels on cores with DSP, bytes to bytes, pixel by pixel.

A pixel of up to four, eight or twelve channels is one, two or three words, the last of which ends with the last channel
and may overlap the one before. Widened once, they stay in registers while the weights of all channels of the output
pass by; nothing is staged. In groups, each of which takes the next channels of a pixel, the same for the next group.

*Weights*: for each channel of the output, group by group, a bias, for each word of a pixel two words of halfwords,
``(w0, w2)`` and ``(w1, w3)``, of which an overlapping word has zeros for what the one before has, and the factor of the
requantization (by the rounded upper word).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..ir.build import store
from ..ir.loops import I32, Access, Call, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, halves, param, requantized_rounded, signed
from .instruction import DSP_FPU, BlockInstruction, Cycles

WORD = 4
"""Channels of a word."""
MOST_WORDS = 3
"""Of a pixel."""
MOST_GROUPED_WORDS = 2
"""Of a pixel's group. Groups of eight channels, which are whole words, have a row of their own."""
MOST_RESULTS = 8
"""Channels of the output that a group has, at most."""


def channel_words(words: int) -> int:
    """Words of the stream for a channel of the output."""
    return 2 * words + 2


def pack(bias: np.ndarray, weights: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """The stream of biases [o], weights [o, k] with at least four k, and factors [o]."""
    depth = weights.shape[1]
    words = -(-depth // WORD)
    bytes_ = np.zeros((len(weights), words * WORD), "<i2")
    bytes_[:, : (words - 1) * WORD] = weights[:, : (words - 1) * WORD]
    last = depth - (words - 1) * WORD
    bytes_[:, words * WORD - last :] = weights[:, depth - last :]
    halfwords = bytes_.reshape(-1, words, 2, 2).swapaxes(2, 3)
    pairs = np.ascontiguousarray(halfwords).view("<i4").reshape(len(weights), -1)
    return np.concatenate([bias[:, None], pairs, factors[:, None]], axis=1).astype(np.int32)


def _pointwise(
    words: int, groups: Number, pixels: Number, channels: Number, results: Number, step_x: Number, step_y: Number,
    zero_point: Number,
) -> Kernel:  # fmt: skip
    """``pixels`` that are ``step_x`` and ``step_y`` bytes apart. Each of ``groups`` takes the next ``channels``, up to
    four for each of ``words`` and more than for one word less, and makes the next ``results``."""
    each = channel_words(words)
    w = param("w", DType.I32, groups * results * each, Access.READ, 4)
    x = param("x", DType.I8, (pixels - 1) * step_x + groups * channels, Access.READ)
    y = param("y", DType.I8, (pixels - 1) * step_y + groups * results, Access.WRITE)
    pixel, group, result, total = Var("pixel"), Var("group"), Var("result"), Var("acc", I32)
    at, first = (group * results + result) * each, pixel * step_x + group * channels
    lets: list[Let] = []
    acc: Expr = w[at]
    for number in range(2 * words):
        begin = first + (number // 2 * WORD if number < 2 * words - 2 else channels - WORD) + number % 2
        pair = Var(f"pair{number}", I32)
        lets.append(Let(pair, halves(signed(x, begin), signed(x, begin + 2))))
        acc = Call("dot2_i16i16", (acc, pair, w[at + (number + 1)]), I32)
    place = y[pixel * step_y + group * results + result]
    stored = store(place, requantized_rounded(total, w[at + (each - 1)], zero_point))
    body = (*lets, *loop(result, results, Let(total, acc), stored))
    return Kernel("pointwise", (w, x, y), loop(pixel, pixels, *loop(group, groups, *body)))


def _single(words: int, pixels: Number, channels: Number, *rest: Number) -> Kernel:
    return _pointwise(words, 1, pixels, channels, *rest)


def _grouped(words: int, pixels: Number, groups: Number, channels: Number, *rest: Number) -> Kernel:
    return _pointwise(words, groups, pixels, channels, *rest)


def _single_cycles(pixel: float, each: float) -> Cycles:
    return Cycles(
        dsp=lambda pixels, _, results, *__: 75 + pixels * (pixel + results * each + -(-results // MOST_RESULTS) * 4)
    )


def _grouped_cycles(group: float, each: float) -> Cycles:
    return Cycles(dsp=lambda pixels, groups, _, results, *__: 80 + pixels * (12 + groups * (group + results * each)))


_PIXELS = ("channels", "results", "step_x", "step_y", "zero_point")


def _row(
    name: str, scalars: tuple[str, ...], meaning: Callable[..., Kernel], samples: tuple[tuple[int, ...], ...],
    cycles: Cycles,
) -> BlockInstruction:  # fmt: skip
    return BlockInstruction(name, scalars, meaning, DSP_FPU, samples, cycles, in_parts=True, rows_together=True)


def _single_row(words: int, samples: tuple[tuple[int, ...], ...], cycles: Cycles) -> BlockInstruction:
    meaning, scalars = partial(_single, words), ("pixels", *_PIXELS)
    return _row(f"pointwise_{WORD * words}", scalars, meaning, samples, cycles)


def _grouped_row(most: int, samples: tuple[tuple[int, ...], ...], cycles: Cycles) -> BlockInstruction:
    meaning, scalars = partial(_grouped, -(-most // WORD)), ("pixels", "groups", *_PIXELS)
    return _row(f"grouped_pointwise_{most}", scalars, meaning, samples, cycles)


ROWS: tuple[BlockInstruction, ...] = (
    _single_row(1, ((3, 4, 5, 4, 5, -3), (2, 4, 17, 9, 19, 100)), _single_cycles(20, 10)),
    _single_row(2, ((3, 5, 3, 5, 3, 7), (2, 8, 16, 11, 16, 0), (2, 7, 8, 7, 9, -128)), _single_cycles(25, 14)),
    _single_row(3, ((2, 9, 3, 9, 4, 5), (3, 12, 9, 12, 9, -1), (1, 11, 8, 11, 8, 3)), _single_cycles(35, 20)),
    _grouped_row(4, ((3, 2, 4, 4, 8, 8, -3), (2, 3, 4, 7, 13, 22, 9)), _grouped_cycles(12, 10)),
    _grouped_row(7, ((3, 2, 5, 5, 10, 10, 7), (2, 2, 6, 1, 12, 3, -128)), _grouped_cycles(20, 14)),
    _grouped_row(8, ((2, 3, 8, 8, 24, 25, 0), (1, 2, 8, 3, 16, 6, 4)), _grouped_cycles(19, 14)),
)
