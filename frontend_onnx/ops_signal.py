"""Rules of signal processing: DFT, STFT and MelWeightMatrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd, prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .counted_signal import counted_dft
from .fourier import fourier, inverse_of_half
from .ops_movement import sliced
from .places import arange
from .polynomials import Polynomial
from .runtime_signal import over_any_dft, over_any_spectrum, over_any_stft
from .tensors import dtype_of

_MOST_SLICES = 64
"""With more pieces, frames are gathered by their positions."""


def dft(ctx: NodeContext) -> Sequence[Value]:
    """Along one axis; real operands have one part in the last dimension, complex ones two."""
    x, rank = ctx.input(0), len(ctx.input(0).shape)
    axis = _number(ctx, 2, "the axis", -2) if ctx.opset >= 20 else ctx.integer("axis", 1)
    inverse, onesided = bool(ctx.integer("inverse", 0)), bool(ctx.integer("onesided", 0))
    axis = ctx.axis(axis, rank)
    if rank < 2 or axis == rank - 1 or x.shape[-1] not in (1, 2):
        raise ctx.invalid(f"DFT of {x.type} along axis {axis}")
    counted = _counted_length(ctx, axis, inverse and onesided)
    if counted is not None:
        return [ctx.cast(counted_dft(ctx, x, axis, counted, inverse, onesided, _widened(x.dtype)), x.dtype)]
    extents = ctx.extents(x)
    if extents:
        ctx = replace(ctx, over_bounds=True)
    extent = x.shape[axis]
    n = _number(ctx, 1, "the length", 2 * (extent - 1) if inverse and onesided else extent)
    if n < 1:
        raise ctx.invalid(f"DFT of length {n}")
    ctx.guard_constant(n)
    half = n // 2 + 1
    perm = (*(d for d in range(rank - 1) if d != axis), axis, rank - 1)
    moved = ctx.emit("transpose", x, perm=perm) if perm != tuple(range(rank)) else x
    outer = moved.shape[:-2]
    wide = ctx.cast(moved, _widened(x.dtype))
    signal = _fitted(ctx, ctx.reshape(wide, (prod(outer), extent, x.shape[-1])), half if inverse and onesided else n)
    if inverse and onesided:
        y = inverse_of_half(ctx, _complex(ctx, signal), n)
    else:
        y = fourier(ctx, signal, half if onesided else n, inverse)
    y = ctx.cast(ctx.reshape(y, (*outer, *y.shape[1:])), x.dtype)
    if moved is not x:
        y = ctx.emit("transpose", y, perm=tuple(perm.index(d) for d in range(rank)))
    return [ctx.with_extents(y, extents) if extents else y]


def _counted_length(ctx: NodeContext, axis: int, of_half: bool) -> Polynomial | None:
    """The length of a transform of which it or the number of terms depends on a run."""
    x, counts = ctx.input(0), ctx.builder.counts
    extent, given = ctx.extent_along(x, axis), ctx.builder.numbers.of(ctx.optional(1))
    length = extent if ctx.optional(1) is None else given[0] if given and len(given) == 1 else None
    if length is None or (length.number is not None and extent.number is not None):
        return None
    if of_half and ctx.optional(1) is None:
        length = (extent - Polynomial.constant(1)) * Polynomial.constant(2)
    if counts.span(length)[0] < 1:
        raise ctx.unsupported("a DFT whose length may be 0", hint="let the range begin later")
    return length


def _number(ctx: NodeContext, position: int, what: str, default: int) -> int:
    if ctx.optional(position) is None:
        return default
    array = ctx.static(position, what)
    if array.size != 1:
        raise ctx.invalid(f"{what} has {array.size} elements, not one")
    return int(array.reshape(-1)[0])


def _fitted(ctx: NodeContext, x: Value, n: int) -> Value:
    """``x[batch, extent, parts]`` cut off, or continued by zeros, to n elements."""
    batch, extent, parts = x.shape
    if n <= extent:
        return sliced(ctx, x, [range(batch), range(n), range(parts)])
    return ctx.emit("pad", x, before=(0, 0, 0), after=(0, n - extent, 0), mode="constant", value=0.0)


def _complex(ctx: NodeContext, x: Value) -> Value:
    return x if x.shape[-1] == 2 else ctx.emit("pad", x, before=(0, 0, 0), after=(0, 0, 1), mode="constant", value=0.0)


def stft(ctx: NodeContext) -> Sequence[Value]:
    """The transform of each frame of ``signal[batch, length, parts]``, or of a real ``signal[batch, length]`` as
    PyTorch writes it, weighted by the window. As many frames as a signal whose length only a run knows has room for."""
    x, window = ctx.input(0), ctx.optional(2)
    onesided = bool(ctx.integer("onesided", 1))
    if len(x.shape) not in (2, 3) or (len(x.shape) == 3 and x.shape[-1] not in (1, 2)):
        raise ctx.invalid(f"STFT of {x.type}")
    extents, whole = ctx.extents(x), replace(ctx, over_bounds=True) if ctx.has_extents() else ctx
    step = _number(ctx, 1, "frame_step", 0)
    if 1 in extents and window is None and ctx.optional(3) is None:
        raise ctx.unsupported("a frame as long as a signal whose extent is only known in a run", hint="fix the extent")
    length = _number(ctx, 3, "frame_length", x.shape[1] if window is None else window.type.size)
    if step < 1 or not 1 <= length <= x.shape[1] or (window is not None and window.shape != (length,)):
        raise ctx.invalid(f"frames of {length} every {step} and window {window and window.type} do not fit {x.type}")
    wide = whole.cast(whole.reshape(x, (*x.shape[:2], x.shape[2] if len(x.shape) == 3 else 1)), _widened(x.dtype))
    framed = _frames(whole, wide, length, step)
    batch, count, _, parts = framed.shape
    if window is not None:
        framed = whole.emit("mul", framed, whole.reshape(whole.cast(window, wide.dtype), (length, 1)))
    flat = whole.reshape(framed, (batch * count, length, parts))
    y = fourier(whole, flat, length // 2 + 1 if onesided else length, False)
    y = whole.cast(whole.reshape(y, (batch, count, *y.shape[1:])), x.dtype)
    found = {axis: extent for axis, extent in extents.items() if axis == 0}
    if 1 in extents:
        found[1] = ctx.builder.stepped(extents[1], step - length, step, ctx.loc)
    return [ctx.with_extents(y, found)]


def _widened(dtype: DType) -> DType:
    """The type in which transforms are computed."""
    return DType.F32 if dtype is DType.F16 else dtype


def _frames(ctx: NodeContext, x: Value, length: int, step: int) -> Value:
    """``[batch, count, length, parts]``: neighbouring pieces of gcd(length, step) elements side by side, as views."""
    batch, extent, parts = x.shape
    count, piece = (extent - length) // step + 1, gcd(length, step)
    pieces, stride = length // piece, step // piece
    if pieces > _MOST_SLICES:
        starts = ctx.reshape(arange(ctx, count, 1, 0, step), (count, 1))
        ctx.guard_constant(count * length)
        places = ctx.emit("add", starts, arange(ctx, length, 2, 1))
        return ctx.emit("gather", x, places, axis=1)
    used = ((count - 1) * stride + pieces) * piece
    cut = sliced(ctx, x, [range(batch), range(used), range(parts)])
    apart = ctx.reshape(cut, (batch, used // piece, piece * parts))
    columns = [
        sliced(ctx, apart, [range(batch), range(q, q + (count - 1) * stride + 1, stride), range(piece * parts)])
        for q in range(pieces)
    ]
    joined = columns[0] if pieces == 1 else ctx.emit("concat", *columns, axis=2)
    return ctx.reshape(joined, (batch, count, length, parts))


def mel_weight_matrix(ctx: NodeContext) -> Sequence[Value]:
    """Triangles between neighbouring frequencies that are equally far apart on the mel scale, in float64.

    mel(f) = 2595 * log10(1 + f / 700)
    """
    bins, length = _number(ctx, 0, "num_mel_bins", 0), _number(ctx, 1, "dft_length", 0)
    if bins < 1 or length < 1:
        raise ctx.invalid(f"{bins} mel bins of a spectrum of length {length}")
    ctx.guard_constant(bins * (length // 2 + 1))
    dtype = dtype_of(ctx.integer("output_datatype", 1), ctx.loc)
    rate, low, high = (ctx.cast(ctx.reshape(ctx.input(n), ()), DType.F64) for n in (2, 3, 4))

    def scaled(x: Value, factor: float) -> Value:
        return ctx.emit("mul", x, ctx.scalar(factor, x))

    def mel(x: Value) -> Value:
        return scaled(ctx.emit("log", ctx.emit("add", scaled(x, 1 / 700), ctx.scalar(1, x))), 2595 / np.log(10))

    steps = ctx.constant(np.arange(bins + 2, dtype=np.float64))
    width = scaled(ctx.emit("sub", mel(high), mel(low)), 1 / (bins + 2))
    point = ctx.emit("add", ctx.emit("mul", steps, width), mel(low))
    hertz = ctx.emit("sub", ctx.emit("exp", scaled(point, np.log(10) / 2595)), ctx.scalar(1, point))
    edges = ctx.emit("floor", ctx.emit("div", scaled(hertz, 700.0 * (length + 1)), rate))
    lower, center, higher = (sliced(ctx, edges, [range(n, n + bins)]) for n in range(3))
    j = ctx.constant(np.arange(length // 2 + 1, dtype=np.float64).reshape(-1, 1))

    def between(first: str, a: Value, second: str, b: Value) -> Value:
        return ctx.emit("and", ctx.emit(first, j, a), ctx.emit(second, j, b))

    def ratio(a: Value, b: Value, c: Value, d: Value) -> Value:
        return ctx.emit("div", ctx.emit("sub", a, b), ctx.emit("sub", c, d))

    zero, one = ctx.scalar(0, j), ctx.scalar(1, j)
    rising = ctx.emit("where", between("ge", lower, "le", center), ratio(j, lower, center, lower), zero)
    single = ctx.emit("where", ctx.emit("eq", j, center), one, zero)
    left = ctx.emit("where", ctx.emit("eq", lower, center), single, rising)
    falling = between("ge", center, "lt", higher)
    return [ctx.cast(ctx.emit("where", falling, ratio(higher, j, higher, center), left), dtype)]


RULES: Mapping[str, Rule] = {
    "DFT": over_any_dft(dft),
    "MelWeightMatrix": over_any_spectrum(mel_weight_matrix),
    "STFT": over_any_stft(stft),
}
