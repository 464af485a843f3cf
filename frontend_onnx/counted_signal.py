"""DFT along a dimension whose extent depends on a run: products with matrices that the run makes.

    y[k] = sum_j x[j] * exp(-2i pi j k / n), the inverse with the other sign and divided by n

The angles of a transform of length n are n different ones; a matrix takes that of ``j * k mod n``.
"""

from __future__ import annotations

from dataclasses import replace
from math import pi

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext
from .polynomials import Polynomial


def counted_dft(
    ctx: NodeContext, x: Value, axis: int, n: Polynomial, inverse: bool, onesided: bool, dtype: DType
) -> Value:
    """The transform of length ``n`` of ``x[..., parts]`` along ``axis``, in floats of ``dtype``."""
    counts, rank = ctx.builder.counts, len(x.shape)
    half = counts.quotient(n, 2, ctx.loc) + Polynomial.constant(1)
    terms = counts.least_of(ctx.extent_along(x, axis), half if inverse and onesided else n, ctx.loc)
    found = half if onesided and not inverse else n
    cosine, sine = _matrices(ctx, n, terms, found, inverse and onesided, dtype)
    perm = (*(d for d in range(rank - 1) if d != axis), axis)
    parts = [ctx.emit("transpose", _part(ctx, x, part, axis, terms, dtype), perm=perm) for part in range(x.shape[-1])]
    real = ctx.emit("matmul", parts[0], cosine)
    sums = [real] if inverse and onesided else [real, ctx.emit("matmul", parts[0], sine)]
    if not inverse and len(sums) == 2:
        sums[1] = ctx.emit("neg", sums[1])
    if len(parts) == 2:
        turned = ctx.emit("matmul", parts[1], sine)
        sums[0] = ctx.emit("sub" if inverse else "add", real, turned)
        if len(sums) == 2:
            sums[1] = ctx.emit("add", sums[1], ctx.emit("matmul", parts[1], cosine))
    back = tuple(perm.index(d) for d in range(rank - 1))
    whole, results = replace(ctx, over_bounds=True), []
    for each in sums:
        placed = ctx.emit("transpose", each, perm=back)
        results.append(whole.reshape(placed, (*placed.shape, 1)))
    extents = ctx.extents(placed)
    y = results[0] if len(results) == 1 else whole.emit("concat", *results, axis=rank - 1)
    if inverse:
        y = whole.emit("div", y, whole.cast(counts.value(n, ctx.loc), dtype))
    return ctx.with_extents(y, extents)


def _part(ctx: NodeContext, x: Value, part: int, axis: int, terms: Polynomial, dtype: DType) -> Value:
    """The real or the imaginary part, of which the first ``terms`` along ``axis`` count."""
    whole, extents = replace(ctx, over_bounds=True), dict(ctx.extents(x))
    sizes = [*x.shape[:-1], 1]
    most = ctx.builder.counts.span(terms)[1]
    sizes[axis] = min(sizes[axis], most)
    zeros, ones = (0,) * len(sizes), (1,) * len(sizes)
    taken = whole.emit("slice", x, starts=(*zeros[:-1], part), steps=ones, sizes=tuple(sizes))
    taken = whole.cast(whole.reshape(taken, tuple(sizes[:-1])), dtype)
    extents.pop(axis, None)
    if terms.number is None:
        extents[axis] = ctx.builder.counts.value(terms, ctx.loc)
    return ctx.with_extents(taken, extents)


def _matrices(
    ctx: NodeContext, n: Polynomial, terms: Polynomial, found: Polynomial, of_half: bool, dtype: DType
) -> tuple[Value, Value]:
    """Cosines and sines, a row for each term and a column for each result. Of half a spectrum terms count twice, which
    stand for two of the whole."""
    counts, whole = ctx.builder.counts, replace(ctx, over_bounds=True)
    rows, columns, most = (max(counts.span(each)[1], 1) for each in (terms, found, n))
    ctx.guard_constant(rows * columns)
    length = whole.emit("max", counts.value(n, ctx.loc), whole.constant(np.asarray(1, np.int64)))
    places = np.arange(rows, dtype=np.int64).reshape(-1, 1)
    angle = whole.emit("mod", whole.constant(places * np.arange(columns, dtype=np.int64)), length, fmod=False)
    step = whole.emit("div", whole.constant(np.asarray(2 * pi)), whole.cast(length, DType.F64))
    turns = whole.emit("mul", whole.constant(np.arange(most, dtype=np.float64)), step)
    extents = {axis: counts.value(each, ctx.loc) for axis, each in enumerate((terms, found)) if each.number is None}
    matrices = []
    for op in ("cos", "sin"):
        matrix = whole.emit("gather", whole.cast(whole.emit(op, turns), dtype), angle, axis=0)
        if of_half:
            twice = whole.constant(2 * places)
            single = whole.emit("or", whole.constant(places == 0), whole.emit("eq", twice, length))
            weight = whole.emit("where", single, whole.scalar(1, matrix), whole.scalar(2, matrix))
            matrix = whole.emit("mul", matrix, weight)
        if 0 in extents and ctx.array(matrix) is not None:  # constants have no extents of a run
            within = whole.emit("lt", whole.constant(places), extents[0])
            matrix = whole.emit("where", within, matrix, whole.scalar(0, matrix))
        matrices.append(ctx.with_extents(matrix, extents))
    return matrices[0], matrices[1]
