"""Rows of contractions, windows, reductions, normalizations and interpolation."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from tests.fuzz.build import FLOATS, Builder, Tensor, UnfitError
from tests.fuzz.row import Row, allowed
from tests.fuzz.rows_movement import any_data, some_axes, some_axis


def spatial_shape(b: Builder, channels: int | None = None) -> tuple[int, ...]:
    """[batch, channels, 1 to 3 extents]"""
    shape = b.shape(3, 5, (1, 2, 3, 4, 5, 7))
    return shape if channels is None else (shape[0], channels, *shape[2:])


def window_attributes(
    b: Builder, extents: tuple[int, ...], kernel: tuple[int, ...], *, dilated: bool = True, same: bool = True
) -> dict[str, Any]:
    """Strides, dilations and padding with which every window touches the operand."""
    spatial = len(extents)
    strides = [b.between(1, 3) for _ in extents]
    dilations = [b.between(1, 2) if dilated and size > 1 else 1 for size in kernel]
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilations)]
    attributes = b.some(strides=strides)
    if dilated:
        attributes |= b.some(dilations=dilations)
    if "dilations" not in attributes:
        reach = list(kernel)
    before = [b.between(0, min(size - 1, 2)) for size in kernel]
    after = [b.between(0, min(size - 1, 2)) for size in kernel]
    for d in range(spatial):  # the window fits into the padded operand
        missing = reach[d] - extents[d] - before[d] - after[d]
        if missing > 0:
            raise UnfitError("the window does not fit")
    pads = before + after
    mode = b.pick(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]) if same and b.flip(0.4) else "NOTSET"
    if mode.startswith("SAME"):  # ONNX Runtime's pools forget about the dilation then
        attributes.pop("dilations", None)
    if mode == "VALID" and any(size > extent for size, extent in zip(reach, extents)):
        mode = "SAME_UPPER"
    if mode == "NOTSET":
        return attributes | ({"pads": pads} if any(pads) else b.some(pads=pads)) | b.some(auto_pad=mode)
    return attributes | {"auto_pad": mode}


def kernel_of(b: Builder, extents: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(b.between(1, min(3, extent)) for extent in extents)


def conv(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("Conv", 0, b.opset)), spatial_shape(b)
    groups = [g for g in range(1, shape[1] + 1) if shape[1] % g == 0]
    group = int(b.pick([1, shape[1], b.pick(groups)]))
    out = group * b.between(1, 3)
    kernel = kernel_of(b, shape[2:])
    more = window_attributes(b, shape[2:], kernel)
    x = b.data(dtype, shape)
    w = b.weight(dtype, (out, shape[1] // group, *kernel))
    bias = b.weight(dtype, (out,)) if b.flip() else None
    return b.node("Conv", [x, w, bias], **more, **({"group": group} if group > 1 else b.some(group=1)), **b.some(
        kernel_shape=list(kernel)))  # fmt: skip


def conv_transpose(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("ConvTranspose", 0, b.opset)), spatial_shape(b)
    group = shape[1] if b.flip(0.3) else 1
    spatial = len(shape) - 2
    kernel = tuple(b.between(1, 3) for _ in range(spatial))
    strides, dilations = [b.between(1, 3) for _ in kernel], [b.between(1, 2) for _ in kernel]
    more = b.some(strides=strides, dilations=dilations, kernel_shape=list(kernel))
    step = more.get("strides", [1] * spatial)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, more.get("dilations", [1] * spatial))]
    full = [(extent - 1) * s + r for extent, s, r in zip(shape[2:], step, reach)]
    which = b.between(0, 4)
    # With larger strides ONNX Runtime's result is shorter than the operator's text says.
    if which == 0 and all(k >= s for k, s in zip(kernel, step)):
        more["auto_pad"] = b.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif which == 1:
        more["output_shape"] = [max(size - b.between(0, 1), 1) for size in full]
    else:
        pads = [b.between(0, min(1, (size - 1) // 2)) for size in full] * 2
        more |= b.some(pads=pads, output_padding=[b.between(0, max(s - 1, 0)) for s in step])
    out = b.between(1, 3)
    x, w = b.data(dtype, shape), b.weight(dtype, (shape[1], out, *kernel))
    bias = b.weight(dtype, (out * group,)) if b.flip() else None
    return b.node("ConvTranspose", [x, w, bias], group=group, **more)


def gemm(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("Gemm", 0, b.opset)), b.shape(2, 2)
    n = int(b.pick([1, 2, 3, shape[0], 6]))
    trans = b.some(transA=b.between(0, 1), transB=b.between(0, 1))
    m, k = shape[::-1] if trans.get("transA") else shape
    x = b.data(dtype, shape)
    y = b.weight(dtype, (n, k) if trans.get("transB") else (k, n))
    c = None
    if b.opset < 11 or b.flip(0.8):
        c = b.weight(dtype, b.pick([(m, n), (1, n), (m, 1), (n,), (1, 1), (1,), ()]))
    integer = dtype not in FLOATS
    factors = (1.0, 2.0) if integer else (b.uniform(-2, 2), b.uniform(-2, 2))
    return b.node("Gemm", [x, y, c], **trans, **b.some(alpha=factors[0], beta=factors[1]))


def matmul_shapes(b: Builder) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = b.shape(1, 4)
    k = shape[-1]
    if b.flip(0.2):
        return shape, (k,)
    batch = tuple(1 if b.flip(0.4) else extent for extent in shape[:-2])
    batch = batch[b.between(0, len(batch)) if batch else 0 :]
    return shape, (*batch, k, int(b.pick([1, 2, 3, 5, 8])))


def matmul(b: Builder) -> list[Tensor]:
    dtype = b.dtype(allowed("MatMul", 0, b.opset))
    lhs, rhs = matmul_shapes(b)
    x = b.data(dtype, lhs)
    return b.node("MatMul", [x, b.weight(dtype, rhs) if b.flip() else b.data(dtype, rhs)])


def einsum(b: Builder) -> list[Tensor]:
    dtype = b.dtype(allowed("Einsum", 0, b.opset))
    extents = {letter: b.between(1, 4) for letter in "abijkxy"}
    equation = b.pick([
        "ij,jk->ik", "ij,jk", "bij,bjk->bik", "ij->ji", "ii->i", "ij->", "i,i", "i,j->ij", "abij,abjk->abik",
        "bij,bkj->bik", "ij,ij->i", "...ij,...jk->...ik", "...ij->...ji", "ij,kj,k->i", "aij,jk,ak->ai", "i->",
    ])  # fmt: skip
    shared = (b.between(1, 3),) * b.between(0, 1)
    operands = []
    for text in equation.split("->")[0].split(","):
        lead = shared if "..." in text else ()
        operands.append(b.data(dtype, (*lead, *(extents[letter] for letter in text.replace("...", "")))))
    return b.node("Einsum", operands, equation=equation)


def det(b: Builder) -> list[Tensor]:
    n = b.between(1, 3)
    return b.node("Det", [b.data(b.dtype(allowed("Det", 0, b.opset)), (*b.shape(0, 1), n, n))])


# ---- windows


def pool(op: str, b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed(op, 0, b.opset)), spatial_shape(b)
    kernel = kernel_of(b, shape[2:])
    dilated = b.opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    more = window_attributes(b, shape[2:], kernel, dilated=dilated)
    if b.opset >= (18 if op == "LpPool" else 10) and b.flip(0.3):
        more["ceil_mode"] = 1
    if op == "AveragePool":
        more |= b.some(count_include_pad=b.between(0, 1))
    elif op == "LpPool":
        more |= b.some(p=b.between(1, 3))
    elif b.opset >= 8:
        more |= b.some(storage_order=b.between(0, 1))
    outputs = 2 if op == "MaxPool" and b.opset >= 8 and dtype in ("float32", "float64") and b.flip(0.3) else 1
    return b.node(op, [b.data(dtype, shape)], outputs, kernel_shape=list(kernel), **more)


def max_unpool(b: Builder) -> list[Tensor]:
    """Of what a MaxPool with the same window would have found."""
    shape = b.shape(3, 4, (1, 2, 3, 4))
    kernel = [b.between(1, 3) for _ in shape[2:]]
    x = b.data(b.dtype(allowed("MaxUnpool", 0, b.opset)), shape)
    extents = [extent * size for extent, size in zip(shape[2:], kernel)]
    planes, count, places = prod(shape[:2]), prod(shape[2:]), prod(extents)
    rows = [b.rng.permutation(places)[:count] + plane * places for plane in range(planes)]
    where = np.stack(rows).reshape(shape).astype(np.int64) if rows else np.zeros(shape, np.int64)
    size = b.ints((*shape[:2], *extents)) if b.flip(0.3) else None
    return b.node("MaxUnpool", [x, b.given(where), size], kernel_shape=kernel, strides=kernel, **b.some(
        pads=[0] * 2 * len(kernel)))  # fmt: skip


def global_pool(op: str, b: Builder) -> list[Tensor]:
    x = b.data(b.dtype(allowed(op, 0, b.opset)), spatial_shape(b))
    return b.node(op, [x], **(b.some(p=b.between(1, 3)) if op == "GlobalLpPool" else {}))


def lrn(b: Builder) -> list[Tensor]:
    x = b.data(b.dtype(allowed("LRN", 0, b.opset)), b.shape(3, 4))
    numbers = b.some(alpha=b.uniform(1e-4, 0.1), beta=b.uniform(0.3, 0.9), bias=b.uniform(0.5, 2))
    return b.node("LRN", [x], size=b.pick([1, 3, 5]), **numbers)


# ---- reductions


def reduce(op: str, b: Builder) -> list[Tensor]:
    positive = op in ("ReduceLogSum",)
    kinds = allowed(op, 0, b.opset)
    if op in ("ReduceLogSum", "ReduceLogSumExp"):  # of integers the result hangs on the last bit of a logarithm
        kinds = tuple(kind for kind in kinds if kind in FLOATS)
    dtype, shape = b.dtype(kinds), b.shape()
    x = b.data(dtype, shape, *((0.5, 3) if positive else (-3, 3)), exact=positive and dtype not in FLOATS)
    more = b.some(keepdims=b.between(0, 1))
    axes = some_axes(b, len(shape)) if b.flip(0.8) else []
    since = 13 if op == "ReduceSum" else 18
    if b.opset < since:
        return b.node(op, [x], **more, **({"axes": axes} if axes else {}))
    more |= b.some(noop_with_empty_axes=b.between(0, 1)) if b.flip(0.4) else {}
    if not axes and b.flip():
        return b.node(op, [x], **more)
    return b.node(op, [x, b.ints(axes)], **more)


def arg_reduce(op: str, b: Builder) -> list[Tensor]:
    x = any_data(b, op, 1)
    if not x.shape or 0 in x.shape:
        raise UnfitError("nothing to choose from")
    more = b.some(axis=some_axis(b, len(x.shape)), keepdims=b.between(0, 1))
    if b.opset >= 12:
        more |= b.some(select_last_index=b.between(0, 1))
    return b.node(op, [x], **more)


def cumulate(op: str, b: Builder) -> list[Tensor]:
    x = any_data(b, op, 1, 4)
    axis = b.param(some_axis(b, len(x.shape)), b.pick(["int64", "int32"]))
    return b.node(op, [x, axis], **b.some(exclusive=b.between(0, 1), reverse=b.between(0, 1)))


def along_axis(op: str, b: Builder) -> list[Tensor]:
    x = any_data(b, op, 2 if b.opset < 13 else 1)
    return b.node(op, [x], **b.some(axis=some_axis(b, len(x.shape))))


def lp_normalization(b: Builder) -> list[Tensor]:
    x = any_data(b, "LpNormalization", 1, 4)
    return b.node("LpNormalization", [x], **b.some(axis=some_axis(b, len(x.shape)), p=b.between(1, 2)))


# ---- normalizations


def batch_normalization(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("BatchNormalization", 0, b.opset)), b.shape(2, 5)
    x = b.data(dtype, shape)
    frozen = b.flip(0.7)

    def channel(low: float, high: float) -> Tensor:
        if frozen:
            return b.param(b.values(dtype, (shape[1],), low, high))
        return b.data(dtype, (shape[1],), low, high, exact=low >= 0)

    parameters = [channel(0.5, 2), channel(-1, 1), channel(-1, 1), channel(0.5, 2)]
    more = b.some(epsilon=b.uniform(0.001, 0.1), momentum=0.8)
    if b.opset >= 14:
        more |= b.some(training_mode=0)
    return b.node("BatchNormalization", [x, *parameters], **more)


def instance_normalization(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("InstanceNormalization", 0, b.opset)), b.shape(3, 5)
    x = b.data(dtype, shape)
    parameters = [b.weight(dtype, (shape[1],), 0.5, 2), b.weight(dtype, (shape[1],))]
    return b.node("InstanceNormalization", [x, *parameters], **b.some(epsilon=b.uniform(0.001, 0.1)))


def group_normalization(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("GroupNormalization", 0, b.opset)), b.shape(3, 5)
    x = b.data(dtype, shape)
    groups = b.pick([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
    size = shape[1] if b.opset >= 21 else groups
    stash = b.some(stash_type=1) if b.opset >= 21 else {}
    parameters = [b.weight(dtype, (size,), 0.5, 2), b.weight(dtype, (size,))]
    return b.node("GroupNormalization", [x, *parameters], num_groups=groups, **stash, **b.some(
        epsilon=b.uniform(0.001, 0.1)))  # fmt: skip


def layer_normalization(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("LayerNormalization", 0, b.opset)), b.shape(1, 4)
    x, axis = b.data(dtype, shape), some_axis(b, len(shape))
    inner = shape[axis:]
    operands: list[Tensor | None] = [x, b.weight(dtype, inner, 0.5, 2)]
    operands.append(b.weight(dtype, inner) if b.flip() else None)
    more = b.some(epsilon=b.uniform(0.001, 0.1), stash_type=1)
    if axis not in (-1, len(shape) - 1) or b.flip():
        more["axis"] = axis
    else:
        operands = [x, b.weight(dtype, shape[-1:], 0.5, 2)]
    return b.node("LayerNormalization", operands, b.between(1, 3), **more)


def rms_normalization(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("RMSNormalization", 0, b.opset)), b.shape(1, 4)
    x, axis = b.data(dtype, shape), some_axis(b, len(shape))
    more = b.some(epsilon=b.uniform(0.001, 0.1), stash_type=1)
    return b.node("RMSNormalization", [x, b.weight(dtype, shape[axis:], 0.5, 2)], axis=axis, **more)


def mean_variance_normalization(b: Builder) -> list[Tensor]:
    x = any_data(b, "MeanVarianceNormalization", 4, 4)
    axes = sorted(axis % 3 for axis in some_axes(b, 3, 1)) if b.flip() else [0, 2, 3]
    spread = x.array.astype(np.float64).std(axis=tuple(axes))
    if not x.array.size or spread.min() < 1e-3 * np.abs(x.array).max():  # of equal elements rounding alone is left
        raise UnfitError
    return b.node("MeanVarianceNormalization", [x], **b.some(axes=axes) if axes == [0, 2, 3] else {"axes": axes})


# ---- interpolation


def resize(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("Resize", 0, b.opset)), b.shape(1, 4, (1, 2, 3, 4, 5))
    rank = len(shape)
    mode = b.pick(["nearest", "linear", "cubic"]) if dtype in FLOATS and b.opset >= 11 else "nearest"
    resized = set(range(rank)) if mode == "nearest" else set(range(max(rank - 2, 0), rank))
    x = b.data(dtype, shape)
    scales = [b.pick([0.5, 1.0, 2.0, 1.5, 0.625, 3.0]) if d in resized else 1.0 for d in range(rank)]
    scales = [scale if int(scale * extent) else 1.0 for scale, extent in zip(scales, shape)]
    if b.opset < 11:
        scales = [max(scale, 1.0) for scale in scales]
        return b.node("Resize", [x, b.param(scales, "float32")], **b.some(mode="nearest"))
    coordinates = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    if b.opset >= 19:
        coordinates.append("half_pixel_symmetric")
    coordinate = b.pick(coordinates)
    more: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinate}
    if mode == "nearest":
        more |= b.some(nearest_mode=b.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    if mode == "cubic":
        more |= b.some(cubic_coeff_a=b.pick([-0.5, -0.75]), exclude_outside=b.between(0, 1))
    if b.opset >= 18 and mode != "nearest" and b.flip(0.2):
        more["antialias"] = 1
    empty = b.param(np.zeros(0, np.float32))
    roi: Tensor | None = empty if b.opset < 13 else None
    if b.flip():
        return b.node("Resize", [x, roi, b.param(scales, "float32")], **more)
    sizes = [max(int(scale * extent), 1) for scale, extent in zip(scales, shape)]
    if b.flip(0.2) and mode == "linear":
        more["coordinate_transformation_mode"] = "tf_crop_and_resize"
        lows = [b.uniform(-0.2, 0.3) if d in resized else 0.0 for d in range(rank)]
        highs = [b.uniform(0.6, 1.2) if d in resized else 1.0 for d in range(rank)]
        roi = b.param([*lows, *highs], "float32")
        more |= b.some(extrapolation_value=b.uniform(-2, 2))
        return b.node("Resize", [x, roi, None if b.opset >= 13 else empty, b.ints(sizes)], **more)
    none = None if b.opset >= 13 else empty
    if b.opset >= 18 and b.flip(0.3):
        kept = sorted(resized)
        more |= {"axes": kept} | b.some(keep_aspect_ratio_policy=b.pick(["stretch", "not_larger", "not_smaller"]))
        return b.node("Resize", [x, roi, none, b.ints(sizes[axis] for axis in kept)], **more)
    return b.node("Resize", [x, roi, none, b.ints(sizes)], **more)


def upsample(b: Builder) -> list[Tensor]:
    x = any_data(b, "Upsample", 4, 4)
    scales = [1.0, 1.0, float(b.between(1, 3)), float(b.between(1, 3))]
    mode = "nearest" if x.dtype not in FLOATS or b.flip() else "linear"
    if b.opset < 9:
        return b.node("Upsample", [x], scales=scales, mode=mode)
    return b.node("Upsample", [x, b.param(scales, "float32")], **({"mode": mode} if mode == "linear" else b.some(
        mode=mode)))  # fmt: skip


def affine_grid(b: Builder) -> list[Tensor]:
    spatial, n = b.between(2, 3), b.between(1, 2)
    theta = b.data(b.dtype(allowed("AffineGrid", 0, b.opset)), (n, spatial, spatial + 1))
    size = b.ints([n, b.between(1, 3), *(b.between(2, 4) for _ in range(spatial))])
    return b.node("AffineGrid", [theta, size], **b.some(align_corners=b.between(0, 1)))


# ---- recurrent layers

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(op: str, b: Builder) -> list[Tensor]:
    gates = _GATES[op]
    dtype, shape = b.dtype(allowed(op, 0, b.opset)), b.shape(3, 3, (1, 2, 3, 4, 5))
    direction = b.pick(["forward", "reverse", "bidirectional"])
    count, hidden = (2 if direction == "bidirectional" else 1), b.between(1, 4)
    batch_first = b.opset >= 14 and b.flip(0.3)
    steps, batch, size = (shape[1], shape[0], shape[2]) if batch_first else shape
    x = b.data(dtype, shape)
    w, r = b.weight(dtype, (count, gates * hidden, size)), b.weight(dtype, (count, gates * hidden, hidden))
    bias = b.weight(dtype, (count, 2 * gates * hidden)) if b.flip(0.7) else None
    lengths = b.param(np.full(batch, steps, np.int32)) if b.flip(0.3) else None
    state = (batch, count, hidden) if batch_first else (count, batch, hidden)
    operands: list[Tensor | None] = [x, w, r, bias, lengths]
    operands += [b.data(dtype, state, -1, 1) if b.flip() else None for _ in range(2 if op == "LSTM" else 1)]
    more: dict[str, Any] = {"hidden_size": hidden} | b.some(direction=direction) if count == 1 else {
        "hidden_size": hidden, "direction": direction}  # fmt: skip
    if batch_first:
        more["layout"] = 1
    if op == "LSTM" and b.flip(0.3):
        operands.append(b.weight(dtype, (count, 3 * hidden)))
        more |= b.some(input_forget=0)
    if op == "GRU":
        more |= b.some(linear_before_reset=b.between(0, 1))
    if op != "LSTM" and b.flip(0.2):
        more["clip"] = b.uniform(1.0, 3.0)
    if b.flip(0.2):
        first = {"LSTM": ["Sigmoid", "Tanh", "Relu"], "GRU": ["HardSigmoid", "Tanh"]}
        more["activations"] = first.get(op, [b.pick(["Relu", "Sigmoid"])]) * count
    outputs = [b.flip(0.7) for _ in range(3 if op == "LSTM" else 2)]
    if not any(outputs):
        outputs[0] = True
    while not outputs[-1]:
        outputs.pop()
    return b.node(op, operands, outputs, **more)


def target(b: Builder, shape: tuple[int, ...], classes: int) -> Tensor:
    return b.param(b.values(b.pick(["int64", "int32"]), shape, 0, classes - 1)) if b.flip() else b.data(
        "int64", shape, 0, classes - 1, exact=True)  # fmt: skip


def loss(op: str, b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed(op, 0, b.opset)), b.shape(2, 4)
    x = b.data(dtype, shape)
    labels = target(b, (shape[0], *shape[2:]), shape[1])
    weight = b.param(b.values(dtype, (shape[1],), 0.5, 2)) if b.flip() else None
    more = b.some(reduction=b.pick(["none", "sum", "mean"]))
    if b.flip(0.3):
        more["ignore_index"] = 0
    outputs = b.between(1, 2) if op == "SoftmaxCrossEntropyLoss" else 1
    return b.node(op, [x, labels, weight], outputs, **more)


# ---- attention and its like


def attention(b: Builder) -> list[Tensor]:
    dtype = b.dtype(allowed("Attention", 0, b.opset))
    batch, kv, queries, keys, size = b.between(1, 2), b.between(1, 2), b.between(1, 4), b.between(1, 5), b.between(1, 4)
    heads, width = kv * b.between(1, 2), b.between(1, 4)
    more: dict[str, Any] = {}
    past = b.between(1, 3) if b.flip(0.3) else 0
    flat = b.flip(0.4)
    if flat:
        shapes = [(batch, queries, heads * size), (batch, keys, kv * size), (batch, keys, kv * width)]
        more = {"q_num_heads": heads, "kv_num_heads": kv}
    else:
        shapes = [(batch, heads, queries, size), (batch, kv, keys, size), (batch, kv, keys, width)]
    operands: list[Tensor | None] = [b.data(dtype, shape) for shape in shapes]
    total = past + keys
    mask = None
    if b.flip(0.4):
        shape = b.pick([(queries, total), (batch, 1, queries, total), (batch, heads, queries, total), (1, total)])
        kinds = [dtype, "bool"] if shape != (1, total) else [dtype]
        if shape == (1, total) and queries > 1:  # the reference gives all queries the causal mask of the first
            more["is_causal"] = 0
        mask = b.data(b.pick(kinds), shape)
        if mask.dtype == "bool":
            mask = b.param(np.ones(shape, bool) if b.flip(0.3) else np.tri(*shape[-2:], dtype=bool) | np.zeros(
                shape, bool))  # fmt: skip
    operands.append(mask)
    if past:
        operands += [b.data(dtype, (batch, kv, past, size)), b.data(dtype, (batch, kv, past, width))]
    elif b.opset >= 24 and mask is not None and b.flip(0.2):
        operands += [None, None, b.param(np.full(batch, keys, np.int64))]
    more |= b.some(
        scale=b.uniform(0.2, 1),
        softcap=b.pick([0.0, 2.0]),
        **({} if "is_causal" in more else {"is_causal": b.between(0, 1)}),
    )
    if b.flip(0.2):
        more["softmax_precision"] = TensorProto.FLOAT
    outputs = [True]
    if past or b.flip(0.2):
        outputs = [True, True, True]
        if b.flip():
            outputs.append(True)
            more |= b.some(qk_matmul_output_mode=b.between(0, 3))
    if b.opset >= 25 and b.flip(0.2):
        more |= b.some(left_window_size=b.between(1, 3), right_window_size=b.between(0, 2))
    return b.node("Attention", operands, outputs, **more)


def flex_attention(b: Builder) -> list[Tensor]:
    """With an activation in place of a modification of scores or probabilities."""
    dtype = b.dtype(FLOATS)
    batch, kv, queries, keys, size = b.between(1, 2), b.between(1, 2), b.between(1, 4), b.between(1, 5), b.between(1, 4)
    heads = kv * b.between(1, 2)
    operands = [
        b.data(dtype, (batch, heads, queries, size)), b.data(dtype, (batch, kv, keys, size)),
        b.data(dtype, (batch, kv, keys, b.between(1, 4))),
    ]  # fmt: skip
    kind = TensorProto.DOUBLE if dtype == "float64" else TensorProto.FLOAT
    shape = (batch, heads, queries, keys)
    more: dict[str, Any] = b.some(scale=b.uniform(0.2, 1))
    for name, op in (("score_mod", "Tanh"), ("prob_mod", "Abs")):
        if b.flip(0.4):
            ends = [helper.make_tensor_value_info(f"{b.prefix}{name}{end}", kind, shape) for end in ("_in", "_out")]
            inner = helper.make_node(op, [ends[0].name], [ends[1].name])
            more[name] = helper.make_graph([inner], name, ends[:1], ends[1:])
    return b.node("FlexAttention", operands, domain="ai.onnx.preview", **more)


TRAINING = "ai.onnx.preview.training"


def optimizer(op: str, b: Builder) -> list[Tensor]:
    """A step of training: rate, number of updates, then parameters, gradients and what the optimizer keeps."""
    dtype = b.dtype(("float32", "float64"))
    kept = 2 if op == "Adam" else 1
    rate = b.param(np.asarray(0.1, dtype))
    count = b.param(np.asarray(b.between(0, 3), np.int64))
    shapes = [b.shape(0, 3) for _ in range(b.between(1, 2))]
    operands = [b.data(dtype, shape) for _ in range(2) for shape in shapes]
    operands += [b.data(dtype, shape, 0, 2, exact=True) for _ in range(kept) for shape in shapes]
    more: dict[str, Any] = b.some(norm_coefficient=b.uniform(0, 0.1))
    if op == "Momentum":
        more = {"alpha": 0.9, "beta": 0.1, "mode": b.pick(["standard", "nesterov"]), "norm_coefficient": 0.01}
    elif op == "Adagrad":
        more |= b.some(decay_factor=0.1, epsilon=1e-3)
    else:
        more |= b.some(alpha=0.8, beta=0.9, epsilon=1e-3, norm_coefficient_post=0.01)
    return b.node(op, [rate, count, *operands], (1 + kept) * len(shapes), domain=TRAINING, **more)


def linear_attention(b: Builder) -> list[Tensor]:
    dtype = b.dtype(allowed("LinearAttention", 0, b.opset))
    batch, steps, kv, size, width = b.between(1, 2), b.between(1, 4), b.between(1, 2), b.between(1, 3), b.between(1, 3)
    heads = kv * b.between(1, 2)
    rule = b.pick(["linear", "gated", "delta", "gated_delta"])
    operands: list[Tensor | None] = [
        b.data(dtype, (batch, steps, heads * size), -1, 1), b.data(dtype, (batch, steps, kv * size), -1, 1),
        b.data(dtype, (batch, steps, kv * width), -1, 1),
    ]  # fmt: skip
    operands.append(b.data(dtype, (batch, kv, size, width), -1, 1) if b.flip() else None)
    operands.append(b.data(dtype, (batch, steps, kv), -1, 0, exact=True) if "gated" in rule else None)
    operands.append(b.data(dtype, (batch, steps, kv), 0, 1, exact=True) if "delta" in rule else None)
    more = b.some(scale=b.uniform(0.2, 1), chunk_size=b.pick([1, 2, 64]))
    return b.node("LinearAttention", operands, 2, update_rule=rule, q_num_heads=heads, kv_num_heads=kv, **more)


def causal_conv(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("CausalConvWithState", 0, b.opset)), b.shape(3, 3)
    k = b.between(1, 3)
    x, w = b.data(dtype, shape), b.weight(dtype, (shape[1], 1, k))
    bias = b.weight(dtype, (shape[1],)) if b.flip() else None
    past = b.data(dtype, (shape[0], shape[1], k - 1)) if k > 1 and b.flip() else None
    return b.node("CausalConvWithState", [x, w, bias, past], 2, **b.some(
        activation=b.pick(["none", "silu", "swish"])))  # fmt: skip


def rotary(b: Builder) -> list[Tensor]:
    dtype = b.dtype(allowed("RotaryEmbedding", 0, b.opset))
    batch, steps, heads, half = b.between(1, 2), b.between(1, 4), b.between(1, 3), b.between(1, 3)
    size = 2 * half
    more: dict[str, Any] = b.some(interleaved=b.between(0, 1))
    if b.flip(0.3) and half > 1:
        more["rotary_embedding_dim"] = size - 2
        half -= 1
    flat = b.flip()
    if flat or "rotary_embedding_dim" in more:
        more["num_heads"] = heads
    x = b.data(dtype, (batch, steps, heads * size) if flat else (batch, heads, steps, size))
    if b.flip():
        shape: tuple[int, ...] = (8, half)
        place = b.param(b.values("int64", (batch, steps), 0, 7)) if b.flip() else b.data(
            "int64", (batch, steps), 0, 7, exact=True)  # fmt: skip
        return b.node("RotaryEmbedding", [x, b.weight(dtype, shape), b.weight(dtype, shape), place], **more)
    shape = (batch, steps, half)
    return b.node("RotaryEmbedding", [x, b.weight(dtype, shape), b.weight(dtype, shape)], **more)


def swiglu(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("SwiGLU", 0, b.opset)), b.shape()
    return b.node("SwiGLU", [b.data(dtype, shape), b.data(dtype, shape)], **b.some(alpha=b.uniform(0.5, 2)))


_REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip

ROWS: dict[str, Row] = {
    **{f"{TRAINING}.{op}": Row(partial(optimizer, op)) for op in ("Adagrad", "Adam", "Momentum")},
    "ai.onnx.preview.FlexAttention": Row(flex_attention),
    **{op: Row(partial(reduce, op)) for op in _REDUCTIONS},
    **{op: Row(partial(pool, op)) for op in ("AveragePool", "LpPool", "MaxPool")},
    **{op: Row(partial(global_pool, op)) for op in ("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool")},
    **{op: Row(partial(arg_reduce, op)) for op in ("ArgMax", "ArgMin")},
    **{op: Row(partial(along_axis, op)) for op in ("Hardmax", "LogSoftmax", "Softmax")},
    **{op: Row(partial(recurrent, op)) for op in _GATES},
    **{op: Row(partial(loss, op)) for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")},
    "AffineGrid": Row(affine_grid), "Attention": Row(attention), "BatchNormalization": Row(batch_normalization),
    "CausalConvWithState": Row(causal_conv), "Conv": Row(conv), "ConvTranspose": Row(conv_transpose),
    "CumProd": Row(partial(cumulate, "CumProd")), "CumSum": Row(partial(cumulate, "CumSum")),
    "Det": Row(det), "Einsum": Row(einsum), "Gemm": Row(gemm),
    "GroupNormalization": Row(group_normalization), "InstanceNormalization": Row(instance_normalization),
    "LRN": Row(lrn), "LayerNormalization": Row(layer_normalization), "LinearAttention": Row(linear_attention),
    "LpNormalization": Row(lp_normalization), "MatMul": Row(matmul), "MaxUnpool": Row(max_unpool),
    "MeanVarianceNormalization": Row(mean_variance_normalization), "RMSNormalization": Row(rms_normalization),
    "Resize": Row(resize), "RotaryEmbedding": Row(rotary), "SwiGLU": Row(swiglu), "Upsample": Row(upsample, until=9),
}  # fmt: skip
