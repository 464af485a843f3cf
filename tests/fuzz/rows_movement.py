"""Rows of operators that move elements, select them or make constants."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from tests.fuzz.build import FLOATS, INTEGERS, NARROW, TYPES, Builder, Tensor, UnfitError
from tests.fuzz.row import Row, allowed


def any_data(b: Builder, op: str, least: int = 0, most: int = 5) -> Tensor:
    """An operand that is computed with."""
    return b.data(b.dtype(allowed(op, 0, b.opset)), b.shape(least, most))


def moved_data(b: Builder, op: str, least: int = 0, most: int = 5) -> Tensor:
    """An operand whose elements become those of the result."""
    return b.data(b.dtype(allowed(op, 0, b.opset, more=tuple(NARROW))), b.shape(least, most))


def optional(op: str, b: Builder) -> list[Tensor]:
    """Of a tensor; before operator set 18 only values of optional types are taken, which no input has."""
    if b.opset < 18:
        raise UnfitError("an optional type")
    return b.node(op, [moved_data(b, op)])


def rounded(b: Builder, x: Tensor) -> Tensor:
    """``x`` as whole numbers: where the shape of a result depends on which floats are equal, rounding must not."""
    return b.node("Round", [x])[0] if x.dtype in FLOATS and b.opset >= 11 else x


def some_axis(b: Builder, rank: int) -> int:
    """Of either sign; 0 where there is none."""
    if not rank:
        return 0
    axis = b.between(0, rank - 1)
    return axis - rank if b.opset >= 11 and b.flip(0.3) else axis


def some_axes(b: Builder, rank: int, least: int = 0) -> list[int]:
    count = b.between(min(least, rank), rank)
    axes = sorted(int(axis) for axis in b.rng.permutation(rank)[:count])
    return [axis - rank if b.opset >= 11 and b.flip(0.3) else axis for axis in axes]


def reshape(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Reshape")
    factors, rest = [], x.array.size
    while rest > 1 and len(factors) < 4:
        divisors = [d for d in range(1, rest + 1) if rest % d == 0]
        factors.append(int(b.pick(divisors)))
        rest //= factors[-1]
    shape = [*factors, rest] if x.array.size else list(x.shape)
    if x.array.size and b.flip(0.4):
        shape[b.between(0, len(shape) - 1)] = -1
    for place, extent in enumerate(shape):
        if place < len(x.shape) and extent == x.shape[place] and b.flip(0.3):
            shape[place] = 0
    zero = b.some(allowzero=0) if b.opset >= 14 and 0 in shape else b.some(allowzero=1) if b.opset >= 14 else {}
    return b.node("Reshape", [x, b.ints(shape)], **zero)


def transpose(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Transpose")
    perm = [int(axis) for axis in b.rng.permutation(len(x.shape))]
    return b.node("Transpose", [x], **(b.some(perm=perm) if perm else {}))


def flatten(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Flatten", 1 if b.opset < 11 else 0)
    rank = len(x.shape)
    axis = b.between(-rank if b.opset >= 11 else 0, rank)
    return b.node("Flatten", [x], **(b.some(axis=axis) if rank else {"axis": 0}))


def squeeze(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Squeeze")
    ones = [axis for axis, extent in enumerate(x.shape) if extent == 1]
    axes = [axis - len(x.shape) if b.opset >= 11 and b.flip(0.3) else axis for axis in ones if b.flip(0.7)]
    if not axes or b.flip(0.2):
        return b.node("Squeeze", [x])
    return b.node("Squeeze", [x, b.ints(axes)]) if b.opset >= 13 else b.node("Squeeze", [x], axes=axes)


def unsqueeze(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Unsqueeze", 0, 3)
    rank = len(x.shape) + b.between(1, 2)
    axes = [int(axis) for axis in b.rng.permutation(rank)[: rank - len(x.shape)]]
    axes = [axis - rank if b.opset >= 11 and b.flip(0.3) else axis for axis in axes]
    if b.opset < 13:
        return b.node("Unsqueeze", [x], axes=sorted(axes))
    return b.node("Unsqueeze", [x, b.ints(axes)])


def concat(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("Concat", 0, b.opset, more=tuple(NARROW))), b.shape(1)
    axis, parts = some_axis(b, len(shape)), []
    for _ in range(b.between(1, 4)):
        own = list(shape)
        own[axis] = b.between(0 if b.flip(b.zero * 3) else 1, 4) if parts else own[axis]
        parts.append(b.data(dtype, own))
    return b.node("Concat", parts, axis=axis)


def split(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Split", 1)
    axis = some_axis(b, len(x.shape))
    extent, parts = x.shape[axis], b.between(1, 3)
    place = b.some(axis=axis) if axis == 0 else {"axis": axis}
    if extent % parts == 0 and b.flip() and extent:
        count = {"num_outputs": parts} if b.opset >= 18 else {}
        return b.node("Split", [x], parts, **place, **count)
    if b.opset >= 18 and b.flip(0.3) and extent >= 3:
        return b.node("Split", [x], 2, **place, num_outputs=2)
    cuts = sorted(b.between(0, extent) for _ in range(parts - 1))
    sizes = [end - start for start, end in zip([0, *cuts], [*cuts, extent])]
    if not b.zero or b.flip(0.7):
        sizes = [size for size in sizes if size] or sizes[:1]
    if sum(sizes) != extent:
        raise UnfitError("split")
    if b.opset < 13:
        return b.node("Split", [x], len(sizes), **place, split=sizes)
    return b.node("Split", [x, b.ints(sizes)], len(sizes), **place)


def slice_(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Slice", 1)
    axes = some_axes(b, len(x.shape), 1)
    starts, ends, steps = [], [], []
    for axis in axes:
        extent = x.shape[axis]
        step = b.pick([1, 1, 2, 3, -1, -2]) if b.opset >= 10 else 1
        start = b.between(0, max(extent - 1, 0))
        count = b.between(1, max(extent, 1))
        if step > 0:
            starts.append(start - extent if b.flip(0.3) and extent else start)
            ends.append(b.pick([start + count, 2**31 - 1, 2**62]))
        else:
            starts.append(b.pick([start, 2**31 - 1, -1]))
            ends.append(b.pick([-(2**31), -extent - 1, -extent - 5]))
        steps.append(step)
    full = axes == list(range(len(x.shape))) and b.flip()
    if b.opset < 10:
        return b.node("Slice", [x], starts=starts, ends=ends, axes=None if full else axes)
    kind = b.pick(["int64", "int32"]) if max(map(abs, (*starts, *ends)), default=0) < 2**31 else "int64"
    operands: list[Tensor | None] = [x, b.param(starts, kind), b.param(ends, kind)]
    operands.append(None if full else b.param(axes, kind))
    if any(step != 1 for step in steps) or b.flip():
        operands.append(b.param(steps, kind))
    return b.node("Slice", operands)


def expand(b: Builder) -> list[Tensor]:
    x = b.data(b.dtype(allowed("Expand", 0, b.opset, more=tuple(NARROW))), b.shape(0, 4, (1, 1, 1, 2, 3)))
    shape = [b.between(1, 4) if extent == 1 else b.pick([extent, 1]) for extent in x.shape]
    lead = [b.between(1, 3) for _ in range(b.between(0, 1))]
    if prod([*lead, *shape]) > 2000:
        lead = []
    return b.node("Expand", [x, b.ints([*lead, *shape])])


def tile(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Tile", 1, 4)
    repeats = [b.between(1, 2) for _ in x.shape]
    if b.flip(b.zero * 3):
        repeats[0] = 0
    return b.node("Tile", [x, b.ints(repeats)])


def pad(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Pad", 1, 4)
    rank = len(x.shape)
    modes = ["constant", "reflect", "edge", *(["wrap"] if b.opset >= 19 else [])]
    mode = b.pick(modes) if x.array.size else "constant"
    most = [max(min(extent - 1, 2), 0) if mode in ("reflect", "wrap") else 2 for extent in x.shape]
    before, after = ([b.between(0, m) for m in most] for _ in range(2))
    if mode == "constant" and b.flip(0.2):
        axis = b.between(0, rank - 1)
        before[axis], after[axis] = -b.between(0, x.shape[axis] // 2), b.between(0, 2)
    kind = {"mode": mode} if mode != "constant" else b.some(mode=mode)
    if b.opset < 11:
        return b.node("Pad", [x], pads=before + after, **b.some(value=b.uniform(-2, 2)), **kind)
    axes = None
    if b.opset >= 18 and b.flip(0.3):
        kept = sorted(int(axis) for axis in b.rng.permutation(rank)[: b.between(1, rank)])
        before, after = [before[axis] for axis in kept], [after[axis] for axis in kept]
        axes = b.param(np.asarray(kept, b.pick(["int64", "int32"])))
    value = b.param(b.values(x.dtype, ())) if mode == "constant" and b.flip() else None
    return b.node("Pad", [x, b.ints(before + after), value, axes], **kind)


def depth_to_space(b: Builder) -> list[Tensor]:
    block = b.between(1, 3)
    n, c, h, w = b.between(1, 2), b.between(1, 3), b.between(1, 3), b.between(1, 3)
    x = b.data(b.dtype(allowed("DepthToSpace", 0, b.opset)), (n, c * block * block, h, w))
    mode = b.some(mode=b.pick(["DCR", "CRD"])) if b.opset >= 11 else {}
    return b.node("DepthToSpace", [x], blocksize=block, **mode)


def space_to_depth(b: Builder) -> list[Tensor]:
    block = b.between(1, 3)
    n, c, h, w = b.between(1, 2), b.between(1, 3), b.between(1, 3), b.between(1, 3)
    x = b.data(b.dtype(allowed("SpaceToDepth", 0, b.opset)), (n, c, h * block, w * block))
    mode = b.some(mode=b.pick(["DCR", "CRD"])) if b.opset >= 28 else {}
    return b.node("SpaceToDepth", [x], blocksize=block, **mode)


def indices(b: Builder, shape: tuple[int, ...], extent: int, *, kinds: tuple[str, ...] = ("int64", "int32")) -> Tensor:
    """Positions within an extent; constants mostly."""
    low = -extent if b.opset >= 11 else 0
    kind = str(b.pick(kinds))
    if b.flip(0.6):
        return b.param(b.values(kind, shape, low, extent - 1))
    return b.data(kind, shape, low, extent - 1, exact=True)


def gather(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Gather", 1, 4)
    axis = some_axis(b, len(x.shape))
    if not x.shape[axis]:
        raise UnfitError("no element to gather")
    return b.node("Gather", [x, indices(b, b.shape(0, 2), x.shape[axis])], **b.some(axis=axis) if axis == 0 else {
        "axis": axis})  # fmt: skip


def gather_elements(b: Builder) -> list[Tensor]:
    x = moved_data(b, "GatherElements", 1, 4)
    axis = some_axis(b, len(x.shape))
    if not x.array.size:
        raise UnfitError("no element to gather")
    shape = [b.between(1, extent) for extent in x.shape]
    shape[axis] = b.between(1, 5)
    return b.node("GatherElements", [x, indices(b, tuple(shape), x.shape[axis])], axis=axis)


def gather_nd(b: Builder) -> list[Tensor]:
    x = moved_data(b, "GatherND", 1, 4)
    if not x.array.size:
        raise UnfitError("no element to gather")
    batch = b.between(0, len(x.shape) - 1) if b.opset >= 12 and b.flip(0.4) else 0
    depth = b.between(1, len(x.shape) - batch)
    shape = (*x.shape[:batch], *(b.between(1, 3) for _ in range(b.between(0, 1))), depth)
    least = min(x.shape[batch : batch + depth])
    place = indices(b, shape, least, kinds=("int64",))
    return b.node("GatherND", [x, place], **({"batch_dims": batch} if batch else {}))


def compress(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Compress", 1, 4)
    axis = {"axis": some_axis(b, len(x.shape))} if b.flip(0.7) else {}
    extent = x.shape[axis["axis"]] if axis else x.array.size
    kept = b.values("bool", (b.between(1, max(extent, 1)),))
    kept[0] = True
    return b.node("Compress", [x, b.given(kept)], **axis)


def non_max_suppression(b: Builder) -> list[Tensor]:
    """Boxes and scores on a grid, so that many are equal; thresholds off it, so that rounding decides nothing."""
    batch, classes, count = b.between(1, 2), b.between(1, 3), b.between(1, 9)
    boxes = b.given(b.values("int64", (batch, count, 4), 0, 6).astype(np.float32))
    scores = b.given(b.values("int64", (batch, classes, count), -3, 6).astype(np.float32))
    thresholds = [np.float32(b.between(0, 9) / 10 + 0.031), np.float32(b.between(-3, 4) + 0.5)]
    numbers = [np.array(b.between(0, count + 1)), *thresholds]
    given = [b.given(np.asarray(number).reshape([] if b.flip() else [1])) for number in numbers[: b.between(1, 3)]]
    return b.node("NonMaxSuppression", [boxes, scores, *given], **b.some(center_point_box=b.between(0, 1)))


def reverse_sequence(b: Builder) -> list[Tensor]:
    x = moved_data(b, "ReverseSequence", 2, 4)
    time = b.between(0, 1)
    lengths = b.values("int64", (x.shape[1 - time],), 1, max(x.shape[time], 1))
    axes = {"batch_axis": 1 - time, "time_axis": time}
    return b.node("ReverseSequence", [x, b.given(lengths)], **axes if time else b.some(**axes) and axes)


def _places(b: Builder, shape: tuple[int, ...], axis: int, extent: int) -> Tensor:
    """Different ones along the axis, so that no element is written twice."""
    rows = np.stack([b.rng.permutation(extent)[: shape[axis]] for _ in range(max(prod(shape) // shape[axis], 1))])
    moved = rows.reshape(*(e for d, e in enumerate(shape) if d != axis % len(shape)), shape[axis])
    return b.given(np.moveaxis(moved, -1, axis).astype(b.pick(["int64", "int32"])))


def scatter_elements(op: str, b: Builder) -> list[Tensor]:
    x = any_data(b, op, 1, 3)
    if not x.array.size:
        raise UnfitError("nothing to write to")
    axis = some_axis(b, len(x.shape))
    shape = tuple(b.between(1, extent) for extent in x.shape)
    least = 18 if b.opset >= 18 else 16
    reductions = ["none", "add", "mul", "max", "min"] if b.opset >= 18 else ["none", "add", "mul"]
    how = b.some(reduction=b.pick(reductions)) if op != "Scatter" and b.opset >= least and x.dtype != "bool" else {}
    updates = b.data(x.dtype, shape)
    return b.node(op, [x, _places(b, shape, axis, x.shape[axis]), updates], **how, **(
        b.some(axis=axis) if axis == 0 else {"axis": axis}))  # fmt: skip


def scatter_nd(b: Builder) -> list[Tensor]:
    x = any_data(b, "ScatterND", 1, 3)
    if not x.array.size:
        raise UnfitError("nothing to write to")
    count = b.between(1, x.shape[0])
    place = b.rng.permutation(x.shape[0])[:count].reshape(count, 1).astype(np.int64)
    reductions = ["none", "add", "mul", "max", "min"] if b.opset >= 18 else ["none", "add", "mul"]
    how = b.some(reduction=b.pick(reductions)) if b.opset >= 16 and x.dtype != "bool" else {}
    return b.node("ScatterND", [x, b.given(place), b.data(x.dtype, (count, *x.shape[1:]))], **how)


def tensor_scatter(b: Builder) -> list[Tensor]:
    batch, length, width = b.between(1, 3), b.between(2, 5), b.between(1, 4)
    dtype = b.dtype(allowed("TensorScatter", 0, b.opset))
    cache = b.data(dtype, (batch, 2, length, width))
    rows = b.between(1, length)
    mode = b.pick(["linear", "circular"])
    start = b.given(b.values("int64", (batch,), 0, length - rows if mode == "linear" else length - 1))
    update = b.data(dtype, (batch, 2, rows, width))
    return b.node("TensorScatter", [cache, update, start if b.flip(0.8) else None], mode=mode, **b.some(axis=-2))


def top_k(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("TopK", 0, b.opset)), b.shape(1, 4)
    axis = some_axis(b, len(shape))
    k = b.between(1, max(shape[axis], 1))
    x = b.data(dtype, shape)
    order = b.some(largest=b.between(0, 1), sorted=1) if b.opset >= 11 else {}
    if b.opset < 10:
        return b.node("TopK", [x], 2, axis=axis, k=k)
    return b.node("TopK", [x, b.ints([k])], 2, axis=axis, **order)


def unique(b: Builder) -> list[Tensor]:
    x = rounded(b, moved_data(b, "Unique", 1, 3))
    axis = {"axis": some_axis(b, len(x.shape))} if b.flip() else {}
    return b.node("Unique", [x], b.between(1, 4), **axis, **b.some(sorted=b.between(0, 1)))


def non_zero(b: Builder) -> list[Tensor]:
    return b.node("NonZero", [rounded(b, moved_data(b, "NonZero", 1, 4))])


def one_hot(b: Builder) -> list[Tensor]:
    depth, kind = b.between(1, 5), b.pick(["int64", "int32", "float32", "uint8"])
    place = b.data(kind, b.shape(1, 3), 0 if kind == "uint8" else -depth, depth - 1, exact=True)
    if kind == "float32":
        (place,) = b.node("Floor", [place])
    dtype = b.dtype(allowed("OneHot", 2, b.opset))
    axis = b.between(-len(place.shape) - 1, len(place.shape))
    return b.node("OneHot", [place, b.param(depth, b.pick(["int64", "int32", "float32"])), b.weight(dtype, (2,))], **(
        b.some(axis=axis) if axis == -1 else {"axis": axis}))  # fmt: skip


# ---- constants and shapes


def constant(b: Builder) -> list[Tensor]:
    kinds: dict[str, Any] = {"value": numpy_helper.from_array(b.values(str(b.pick(TYPES)), b.shape()))}
    if b.opset >= 12:
        kinds |= {"value_float": 1.5, "value_floats": [0.5, -2.0], "value_int": 3, "value_ints": [1, 2, 3]}
    name = str(b.pick(list(kinds)))
    return b.node("Constant", [], **{name: kinds[name]})


def constant_of_shape(b: Builder) -> list[Tensor]:
    value = numpy_helper.from_array(b.values(str(b.pick(TYPES)), (1,)))
    return b.node("ConstantOfShape", [b.ints(b.shape(1))], **b.some(value=value))


def dropout(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Dropout")
    if b.opset < 12:  # in inference the mask is undefined
        return b.node("Dropout", [x], **b.some(ratio=0.5))
    outputs = b.between(1, 2)
    more: list[Tensor | None] = [b.param(np.float32(0.5)) if b.flip() else None]
    if b.flip():
        more.append(b.given(np.asarray(False)))
    elif b.flip(0.3):
        more = [b.given(np.zeros((), np.float32)), b.given(np.asarray(True))]
    return b.node("Dropout", [x, *more], outputs, **b.some(seed=3))


def shape(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Shape")
    bounds = b.some(start=b.between(-6, 6), end=b.between(-6, 6)) if b.opset >= 15 else {}
    return b.node("Shape", [x], **bounds)


def size(b: Builder) -> list[Tensor]:
    return b.node("Size", [moved_data(b, "Size")])


def range_(b: Builder) -> list[Tensor]:
    dtype = str(b.pick([name for name in allowed("Range", 0, b.opset) if name in (*FLOATS, *INTEGERS)]))
    down = b.flip(0.3) and not dtype.startswith("uint")
    start, delta = b.between(0, 3), b.between(1, 3)
    limit = start + b.between(-1 if not dtype.startswith("uint") else 0, 9)
    numbers = (limit, start, -delta) if down else (start, limit, delta)
    stash = b.some(stash_type=1) if b.opset >= 27 else {}
    return b.node("Range", [b.param(number, dtype) for number in numbers], **stash)


def eye_like(b: Builder) -> list[Tensor]:
    x = moved_data(b, "EyeLike", 2, 2)
    kinds = list(allowed("EyeLike", 0, b.opset, output=True))
    dtype = int(helper.np_dtype_to_tensor_dtype(np.dtype(b.pick(kinds))))
    return b.node("EyeLike", [x], **b.some(k=b.between(-3, 3), dtype=dtype))


def trilu(b: Builder) -> list[Tensor]:
    x = moved_data(b, "Trilu", 2)
    k = b.param(b.between(-3, 3), "int64") if b.flip() else None
    return b.node("Trilu", [x, k], **b.some(upper=b.between(0, 1)))


def window(op: str, b: Builder) -> list[Tensor]:
    # Integers would be cut off where the window is 1, or next to it.
    names = [name for name in allowed(op, 0, b.opset, output=True) if name in FLOATS]
    kinds = [int(helper.np_dtype_to_tensor_dtype(np.dtype(name))) for name in names]
    size = b.param(b.between(2, 12), b.pick(["int64", "int32"]))
    return b.node(op, [size], **b.some(periodic=b.between(0, 1), output_datatype=b.pick(kinds)))


def center_crop_pad(b: Builder) -> list[Tensor]:
    x = moved_data(b, "CenterCropPad", 1, 4)
    axes = some_axes(b, len(x.shape), 1)
    if axes == list(range(len(x.shape))) and b.flip():
        return b.node("CenterCropPad", [x, b.ints(b.between(1, 6) for _ in x.shape)])
    return b.node("CenterCropPad", [x, b.ints(b.between(1, 6) for _ in axes)], axes=axes)


ROWS: dict[str, Row] = {
    "CenterCropPad": Row(center_crop_pad), "Compress": Row(compress), "Concat": Row(concat),
    "Constant": Row(constant), "ConstantOfShape": Row(constant_of_shape), "DepthToSpace": Row(depth_to_space),
    "Dropout": Row(dropout), "Expand": Row(expand), "EyeLike": Row(eye_like), "Flatten": Row(flatten),
    "Gather": Row(gather), "GatherElements": Row(gather_elements), "GatherND": Row(gather_nd),
    "NonMaxSuppression": Row(non_max_suppression), "NonZero": Row(non_zero), "OneHot": Row(one_hot),
    "Pad": Row(pad), "Range": Row(range_), "Reshape": Row(reshape), "ReverseSequence": Row(reverse_sequence),
    "Scatter": Row(partial(scatter_elements, "Scatter"), until=10),
    "ScatterElements": Row(partial(scatter_elements, "ScatterElements")),
    "ScatterND": Row(scatter_nd), "Shape": Row(shape), "Size": Row(size), "Slice": Row(slice_),
    "SpaceToDepth": Row(space_to_depth), "Split": Row(split), "Squeeze": Row(squeeze),
    "TensorScatter": Row(tensor_scatter), "Tile": Row(tile), "TopK": Row(top_k),
    "OptionalGetElement": Row(partial(optional, "OptionalGetElement")),
    "OptionalHasElement": Row(partial(optional, "OptionalHasElement")),
    "Transpose": Row(transpose), "Trilu": Row(trilu), "Unique": Row(unique), "Unsqueeze": Row(unsqueeze),
    **{op: Row(partial(window, op)) for op in ("BlackmanWindow", "HammingWindow", "HannWindow")},
}  # fmt: skip
