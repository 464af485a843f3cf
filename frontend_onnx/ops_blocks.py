"""Rules of Col2Im, Det and TfIdfVectorizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .ops_strings import is_string, string_positions
from .runtime_blocks import over_any_blocks


def col2im(ctx: NodeContext) -> Sequence[Value]:
    """[n, c * taps, blocks]: the blocks of an image, added up where they overlap."""
    x, image, block = ctx.input(0), ctx.parameter("image_shape", 1), ctx.parameter("block_shape", 2)
    assert image is not None and block is not None
    spatial = len(image)
    ones = (1,) * spatial
    stride, dilation = ctx.integers("strides", ones), ctx.integers("dilations", ones)
    pad = ctx.integers("pads", (0,) * 2 * spatial)
    lengths = {len(block), len(stride), len(dilation), len(pad) // 2}
    if lengths != {spatial} or len(x.shape) != 3 or min(*block, *stride, *dilation) < 1 or x.shape[1] % prod(block):
        raise ctx.invalid(f"blocks {block} of an image {image} do not fit {x.type}")
    counts = [
        (extent + pad[d] + pad[spatial + d] - (span - 1) * step - 1) // stride[d] + 1
        for d, (extent, span, step) in enumerate(zip(image, block, dilation))
    ]
    if min(counts) < 1 or prod(counts) != x.shape[2]:
        raise ctx.invalid(f"an image {image} has {counts} blocks {block}, which does not fit {x.type}")
    apart = ctx.reshape(x, (x.shape[0], x.shape[1] // prod(block), *block, *counts))
    if x.dtype is DType.BOOL:
        raise ctx.unsupported("blocks of bool")
    whole = tuple(image) == tuple(count * span for count, span in zip(counts, block))
    if whole and not any(pad) and dilation == ones and stride == tuple(block):  # side by side: nothing is added
        perm = (0, 1, *(axis for d in range(spatial) for axis in (2 + spatial + d, 2 + d)))
        return [ctx.reshape(ctx.emit("transpose", apart, perm=perm), (*apart.shape[:2], *image))]
    return [ctx.emit("col2im", apart, image=image, stride=stride, pad=pad, dilation=dilation)]


def det(ctx: NodeContext) -> Sequence[Value]:
    return [ctx.emit("det", ctx.input(0))]


def tfidf_vectorizer(ctx: NodeContext) -> Sequence[Value]:
    """Counts of sequences from a pool, in columns that an index names, as they are or weighted.

    Weights are those of the sequences in the order of the pool (onnx.reference takes them for those of the columns).
    """
    given, mode = ctx.input(0), ctx.string("mode")
    columns, weights = ctx.integers("ngram_indexes"), ctx.numbers("weights", ())
    if mode not in ("TF", "IDF", "TFIDF") or len(given.shape) not in (1, 2) or not columns:
        raise ctx.invalid(f"TfIdfVectorizer of {given.type} in mode {mode}")
    width = max(columns) + 1
    if min(columns) < 0 or len(set(columns)) != len(columns) or (weights and len(weights) != len(columns)):
        raise ctx.invalid(f"{len(weights)} weights of {len(columns)} sequences, or their columns, do not fit")
    ctx.guard_constant(width)
    numbers, pool = _numbered(ctx, given)
    numbers = _within(ctx, numbers, max(pool, default=-1) + 1)
    x = numbers if len(given.shape) == 2 else ctx.reshape(numbers, (1, *given.shape))
    counts, sources = _counts(ctx, x, pool), np.full(width, -1, np.int64)
    for place, number in enumerate(counts[1]):
        sources[columns[number]] = place
    y: Value = ctx.cast(_arranged(ctx, counts[0], sources, x.shape[0]), DType.F32)
    if mode == "IDF":
        y = ctx.cast(ctx.emit("gt", y, ctx.scalar(0, y)), DType.F32)
    if weights and mode != "TF":
        factors = np.zeros(width, np.float32)
        factors[list(columns)] = weights
        y = ctx.emit("mul", y, ctx.constant(factors))
    return [ctx.reshape(y, (*given.shape[:-1], width))]


def _numbered(ctx: NodeContext, x: Value) -> tuple[Value, Sequence[int]]:
    """The operand and the pool in integers: strings are numbers of those of the pool."""
    if not is_string(ctx, x):
        return x, ctx.integers("pool_int64s")
    pool = ctx.strings("pool_strings")
    words = list(dict.fromkeys(pool))
    places = {word: place for place, word in enumerate(words)}
    return string_positions(ctx, x, words), [places[word] for word in pool]


def _within(ctx: NodeContext, x: Value, other: int) -> Value:
    """Numbers without an extent along the last dimension, behind whose end they are ``other``, which no pool has."""
    extents = dict(ctx.extents(x))
    count = extents.pop(len(x.shape) - 1, None)
    if count is None:
        return x
    if other > np.iinfo(x.dtype.numpy).max:
        raise ctx.unsupported(f"a pool with the number {other - 1} for {x.type}")
    whole = replace(ctx, over_bounds=True)
    there = whole.emit("lt", whole.constant(np.arange(x.shape[-1])), count)
    return ctx.with_extents(whole.emit("where", there, x, whole.scalar(other, x)), extents)


def _counts(ctx: NodeContext, x: Value, pool: Sequence[int]) -> tuple[Value | None, list[int]]:
    """Counts of the grams of the wanted lengths side by side, and the number of each in the pool."""
    starts = ctx.integers("ngram_counts")
    least, most = ctx.integer("min_gram_length"), ctx.integer("max_gram_length")
    if list(starts) != sorted(starts) or not starts or starts[0] != 0 or starts[-1] > len(pool):
        raise ctx.invalid(f"ngram_counts {starts} do not divide a pool of {len(pool)}")
    parts: list[Value] = []
    numbers: list[int] = []
    number = 0
    for n, (start, end) in enumerate(zip(starts, (*starts[1:], len(pool))), start=1):
        if (end - start) % n:
            raise ctx.invalid(f"{end - start} elements of the pool are no sequences of {n}")
        count = (end - start) // n
        if count and least <= n <= most:
            grams = np.array(pool[start:end], np.int64).reshape(count, n)
            parts.append(_count(ctx, x, grams, ctx.integer("max_skip_count")))
            numbers += range(number, number + count)
        number += count
    if number > len(ctx.integers("ngram_indexes")):
        raise ctx.invalid(f"{len(ctx.integers('ngram_indexes'))} columns for {number} sequences")
    if not parts:
        return None, []
    return parts[0] if len(parts) == 1 else ctx.emit("concat", *parts, axis=1), numbers


def _count(ctx: NodeContext, x: Value, grams: np.ndarray, skips: int) -> Value:
    """Sequences that the type of x cannot hold occur nowhere: x is widened for them."""
    limits = np.iinfo(x.dtype.numpy)
    if grams.min() < limits.min or grams.max() > limits.max:
        x = ctx.cast(x, DType.I64)
    return ctx.emit("count_ngrams", x, ctx.constant(grams.astype(x.dtype.numpy)), skips=min(skips, x.shape[1]))


def _arranged(ctx: NodeContext, counts: Value | None, sources: np.ndarray, rows: int) -> Value:
    """Column c is column ``sources[c]`` of the counts, or zeros for -1."""
    if counts is None:
        return ctx.constant(np.zeros((rows, len(sources)), np.int32))
    if np.array_equal(sources, np.arange(counts.shape[1])):
        return counts
    if (sources < 0).any():
        sources = np.where(sources < 0, counts.shape[1], sources)
        counts = ctx.emit("pad", counts, before=(0, 0), after=(0, 1), mode="constant", value=0)
    return ctx.emit("gather", counts, ctx.constant(sources), axis=1)


RULES: Mapping[str, Rule] = {"Col2Im": over_any_blocks(col2im), "Det": det, "TfIdfVectorizer": tfidf_vectorizer}

STRING_RULES: Mapping[str, Rule] = {"TfIdfVectorizer": tfidf_vectorizer}
