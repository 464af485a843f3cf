"""Operators that move elements: shapes, joints, borders, blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from .context import OpContext, Rule

_MOST_INDICES = 1 << 24


def reshape(ctx: OpContext) -> Sequence[str]:
    """To the declared shape: it is that of this run."""
    (x,), finish = ctx.carried([0])
    if prod(ctx.shape(0)) != prod(ctx.out.shape):
        raise ctx.invalid(f"the shape {list(ctx.shape(0))} becomes {list(ctx.out.shape)}")
    return [finish(ctx.reshaped(x, ctx.out.shape), ctx.out)]


def transpose(ctx: OpContext) -> Sequence[str]:
    (x,), finish = ctx.carried([0])
    rank = len(ctx.shape(0))
    perm = [ctx.axis(axis, rank) for axis in ctx.integers(1, "the permutation")]
    if sorted(perm) != list(range(rank)):
        raise ctx.invalid(f"{perm} is no permutation of {rank} dimensions")
    return [finish(ctx.transposed(x, perm), ctx.out)]


def concatenation(ctx: OpContext) -> Sequence[str]:
    axis = ctx.axis(ctx.integer("Axis"), len(ctx.out.shape))
    if ctx.integer("FusedActivationFunction"):
        real = ctx.emit("Concat", *(ctx.real(position) for position in range(len(ctx.inputs))), axis=axis)
        return [ctx.result(ctx.activated(real))]
    values, finish = ctx.carried(range(len(ctx.inputs)))
    return [finish(ctx.emit("Concat", *values, axis=axis), ctx.out)]


def pack(ctx: OpContext) -> Sequence[str]:
    """Operands of one shape along a new axis."""
    axis = ctx.axis(ctx.integer("Axis"), len(ctx.shape(0)) + 1)
    values, finish = ctx.carried(range(len(ctx.inputs)))
    rows = [ctx.emit("Unsqueeze", value, ctx.indices([axis])) for value in values]
    return [finish(ctx.emit("Concat", *rows, axis=axis), ctx.out)]


def unpack(ctx: OpContext) -> Sequence[str]:
    shape = ctx.shape(0)
    axis = ctx.axis(ctx.integer("Axis"), len(shape))
    if shape[axis] != len(ctx.outputs):
        raise ctx.invalid(f"{shape[axis]} entries of axis {axis} become {len(ctx.outputs)} results")
    rows = _pieces(ctx, 0, axis, [1] * len(ctx.outputs))
    return [ctx.emit("Squeeze", row, ctx.indices([axis])) for row in rows]


def _pieces(ctx: OpContext, position: int, axis: int, sizes: Sequence[int]) -> list[str]:
    (x,), finish = ctx.carried([position])
    if len(sizes) == 1:
        return [finish(ctx.emit("Identity", x), ctx.outputs[0])]
    pieces = ctx.graph.emit_all("Split", [x, ctx.indices(sizes)], len(sizes), axis=axis)
    return [finish(piece, output) for piece, output in zip(pieces, ctx.outputs)]


def split(ctx: OpContext) -> Sequence[str]:
    """axis, x: equal pieces."""
    shape = ctx.shape(1)
    axis = ctx.axis(ctx.integers(0, "the axis")[0], len(shape))
    count = len(ctx.outputs)
    if shape[axis] % count:
        raise ctx.invalid(f"{shape[axis]} entries of axis {axis} become {count} equal pieces")
    return _pieces(ctx, 1, axis, [shape[axis] // count] * count)


def split_v(ctx: OpContext) -> Sequence[str]:
    """x, sizes, of which one may be -1, axis"""
    shape = ctx.shape(0)
    axis = ctx.axis(ctx.integers(2, "the axis")[0], len(shape))
    sizes = ctx.integers(1, "the sizes")
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = shape[axis] - sum(sizes) - 1
    if len(sizes) != len(ctx.outputs) or min(sizes, default=0) < 0 or sum(sizes) != shape[axis]:
        raise ctx.invalid(f"{shape[axis]} entries of axis {axis} become pieces of {sizes}")
    return _pieces(ctx, 0, axis, sizes)


def shape(ctx: OpContext) -> Sequence[str]:
    return [ctx.constant(np.asarray(ctx.shape(0), ctx.out.dtype))]


def rank(ctx: OpContext) -> Sequence[str]:
    return [ctx.constant(np.asarray(len(ctx.shape(0)), ctx.out.dtype))]


def zeros_like(ctx: OpContext) -> Sequence[str]:
    """Integers 0, also where they are quantized, as TensorFlow Lite has it."""
    zero = ctx.constant(np.zeros((), ctx.out.dtype))
    return [ctx.emit("Expand", zero, ctx.indices(ctx.shape(0)))]


def fill(ctx: OpContext) -> Sequence[str]:
    """dims, value. The declared shape is that of ``dims``, which may be computed."""
    return [ctx.emit("Expand", ctx.reshaped(ctx.stored(1), ()), ctx.indices(ctx.out.shape))]


def broadcast_to(ctx: OpContext) -> Sequence[str]:
    (x,), finish = ctx.carried([0])
    return [finish(ctx.emit("Expand", x, ctx.indices(ctx.out.shape)), ctx.out)]


def broadcast_args(ctx: OpContext) -> Sequence[str]:
    """The shape of both operands' broadcast."""
    shapes = [tuple(ctx.integers(position, "a shape")) for position in (0, 1)]
    try:
        joined = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ctx.invalid(f"the shapes {shapes} do not broadcast") from None
    return [ctx.constant(np.asarray(joined, ctx.out.dtype))]


def tile(ctx: OpContext) -> Sequence[str]:
    (x,), finish = ctx.carried([0])
    return [finish(ctx.emit("Tile", x, ctx.indices(ctx.integers(1, "the multiples"))), ctx.out)]


# ---------------------------------------------------------------- borders


def _paddings(ctx: OpContext) -> list[tuple[int, int]]:
    """How much before and behind, by dimension."""
    flat, shape = ctx.integers(1, "the padding"), ctx.shape(0)
    pads = list(zip(flat[::2], flat[1::2]))
    if len(flat) != 2 * len(shape) or not all(0 <= pad < _MOST_INDICES for pad in flat):
        raise ctx.invalid(f"the padding {flat[:16]} of the shape {list(shape)}")
    return pads


def pad(ctx: OpContext) -> Sequence[str]:
    """x, padding [rank, 2], value?: zero by default, which may be another integer where it is quantized."""
    pads = _paddings(ctx)
    flat = ctx.indices([before for before, _ in pads] + [behind for _, behind in pads])
    tensor, out = ctx.tensor(0), ctx.out
    if ctx.has(2):
        (x, value), finish = ctx.carried([0, 2])
        value = ctx.reshaped(value, ())
        return [finish(ctx.emit("Pad", x, flat, value), out)]
    (x,), finish = ctx.carried([0])
    quant = tensor.quantization
    moved_codes = quant is not None and x == ctx.stored(0)
    if moved_codes and quant is not None and quant.per_tensor:
        zero = np.asarray(int(quant.zero_point[0]), tensor.dtype)
    else:
        zero = np.zeros((), np.float32 if x != ctx.stored(0) else tensor.dtype)
    return [finish(ctx.emit("Pad", x, flat, ctx.constant(zero)), out)]


def mirror_pad(ctx: OpContext) -> Sequence[str]:
    """REFLECT does not repeat the border, SYMMETRIC does."""
    (x,), finish = ctx.carried([0])
    repeat = ctx.integer("Mode")
    for axis, ((before, behind), extent) in enumerate(zip(_paddings(ctx), ctx.shape(0))):
        if max(before, behind) > extent - 1 + repeat:
            raise ctx.invalid(f"{max(before, behind)} mirrored of {extent} entries of axis {axis}")
        if not before and not behind:
            continue
        own = np.arange(extent)
        left = own[1 - repeat : before + 1 - repeat][::-1]
        right = own[::-1][1 - repeat : behind + 1 - repeat]
        x = ctx.emit("Gather", x, ctx.indices(np.concatenate([left, own, right]).tolist()), axis=axis)
    return [finish(x, ctx.out)]


# ---------------------------------------------------------------- blocks


def _regrouped(ctx: OpContext, split: Sequence[int], perm: Sequence[int], joined: Sequence[int]) -> str:
    """Reshape, transpose, reshape, of integers where they stay the same."""
    if prod(split) != prod(ctx.shape(0)) or prod(joined) != prod(split):
        raise ctx.invalid(f"the shape {list(ctx.shape(0))} has no such blocks")
    (x,), finish = ctx.carried([0])
    return finish(ctx.reshaped(ctx.transposed(ctx.reshaped(x, split), perm), joined), ctx.out)


def depth_to_space(ctx: OpContext) -> Sequence[str]:
    n, h, w, c = ctx.shape(0, 4)
    size = ctx.positive("BlockSize")
    deep = c // size**2
    split = (n, h, w, size, size, deep)
    return [_regrouped(ctx, split, (0, 1, 3, 2, 4, 5), (n, h * size, w * size, deep))]


def space_to_depth(ctx: OpContext) -> Sequence[str]:
    n, h, w, c = ctx.shape(0, 4)
    size = ctx.positive("BlockSize")
    split = (n, h // size, size, w // size, size, c)
    return [_regrouped(ctx, split, (0, 1, 3, 2, 4, 5), (n, h // size, w // size, size**2 * c))]


def _blocks(ctx: OpContext) -> tuple[list[int], list[tuple[int, int]]]:
    """Operands 1 and 2 of SPACE_TO_BATCH_ND and its inverse: extents of a block, and borders."""
    sizes, flat = ctx.integers(1, "the block"), ctx.integers(2, "the borders")
    valid = len(flat) == 2 * len(sizes) and len(ctx.shape(0)) > len(sizes) > 0
    if not valid or not all(0 < s < _MOST_INDICES for s in sizes) or not all(0 <= b < _MOST_INDICES for b in flat):
        raise ctx.invalid(f"blocks of {sizes[:8]} with borders {flat[:16]} of the shape {list(ctx.shape(0))}")
    return sizes, list(zip(flat[::2], flat[1::2]))


def space_to_batch_nd(ctx: OpContext) -> Sequence[str]:
    sizes, pads = _blocks(ctx)
    batch, *rest = ctx.shape(0)
    count, depth = len(sizes), rest[len(sizes) :]
    (x,), finish = ctx.carried([0])
    tensor = ctx.tensor(0)
    code = tensor.quantization is not None and x == ctx.stored(0)
    zero = np.asarray(int(tensor.quantization.zero_point[0]) if code and tensor.quantization else 0)
    before, behind = [p[0] for p in pads], [p[1] for p in pads]
    flat = [0, *before, *[0] * len(depth), 0, *behind, *[0] * len(depth)]
    typed = zero.astype(tensor.dtype if x == ctx.stored(0) else np.float32)
    x = ctx.emit("Pad", x, ctx.indices(flat), ctx.constant(typed))
    extents = [extent + sum(p) for extent, p in zip(rest, pads)]
    if any(extent % size for extent, size in zip(extents, sizes)):
        raise ctx.invalid(f"extents {extents} are no multiples of {sizes}")
    split = [batch, *(n for extent, size in zip(extents, sizes) for n in (extent // size, size)), *depth]
    inner, outer = [2 + 2 * n for n in range(count)], [1 + 2 * n for n in range(count)]
    perm = [*inner, 0, *outer, *range(2 * count + 1, 2 * count + 1 + len(depth))]
    joined = [batch * prod(sizes), *(extent // size for extent, size in zip(extents, sizes)), *depth]
    return [finish(ctx.reshaped(ctx.transposed(ctx.reshaped(x, split), perm), joined), ctx.out)]


def batch_to_space_nd(ctx: OpContext) -> Sequence[str]:
    sizes, crops = _blocks(ctx)
    batch, *rest = ctx.shape(0)
    count, depth = len(sizes), rest[len(sizes) :]
    if batch % prod(sizes):
        raise ctx.invalid(f"a batch of {batch} is no multiple of blocks of {sizes}")
    (x,), finish = ctx.carried([0])
    split = [*sizes, batch // prod(sizes), *rest]
    places = [n for d in range(count) for n in (count + 1 + d, d)]
    perm = [count, *places, *range(2 * count + 1, len(split))]
    extents = [extent * size for extent, size in zip(rest, sizes)]
    x = ctx.reshaped(ctx.transposed(ctx.reshaped(x, split), perm), [batch // prod(sizes), *extents, *depth])
    starts, ends = [c[0] for c in crops], [extent - c[1] for extent, c in zip(extents, crops)]
    x = ctx.emit("Slice", x, ctx.indices(starts), ctx.indices(ends), ctx.indices(range(1, count + 1)))
    return [finish(x, ctx.out)]


RULES: Mapping[str, Rule] = {
    "BATCH_TO_SPACE_ND": batch_to_space_nd,
    "BROADCAST_ARGS": broadcast_args,
    "BROADCAST_TO": broadcast_to,
    "CONCATENATION": concatenation,
    "DEPTH_TO_SPACE": depth_to_space,
    "EXPAND_DIMS": reshape,
    "FILL": fill,
    "MIRROR_PAD": mirror_pad,
    "PACK": pack,
    "PAD": pad,
    "PADV2": pad,
    "RANK": rank,
    "RESHAPE": reshape,
    "SHAPE": shape,
    "SPACE_TO_BATCH_ND": space_to_batch_nd,
    "SPACE_TO_DEPTH": space_to_depth,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SQUEEZE": reshape,
    "TILE": tile,
    "TRANSPOSE": transpose,
    "UNPACK": unpack,
    "ZEROS_LIKE": zeros_like,
}
