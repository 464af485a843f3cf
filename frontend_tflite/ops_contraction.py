"""Convolutions, fully connected layers and products of matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .context import OpContext, Rule
from .model import Quantization, Tensor

OHWI_TO_OIHW = (0, 3, 1, 2)
HWO_TO_OIHW = (3, 0, 1, 2)
"""Filters of depthwise convolutions are [1, h, w, channels]; of transposed ones [o, h, w, i] becomes [i, o, h, w]."""
SAME, VALID = 0, 1
_INT32 = np.iinfo(np.int32)


def weights(ctx: OpContext, position: int, perm: Sequence[int], x: Tensor, channels: int = 0) -> str:
    """Filters as floats, transposed while they are integers; scales go along the axis to which theirs went.

    Products with 16-bit activations ``x`` are summed in 64 bits by TensorFlow Lite. Where 32 could be too few, by the
    sums of the filters of each entry of the axis ``channels``, these become floats, and the layer is computed in
    float32.
    """
    tensor = ctx.tensor(position)
    value = ctx.transposed(ctx.stored(position), perm)
    quant = tensor.quantization
    array = ctx.array(position)
    if quant is not None and array is not None and x.type == "INT16" and _sum_is_wide(array, quant, channels):
        floats = _reals(array, quant)
        return ctx.constant(floats.transpose(perm), "weights")
    if quant is None or quant.per_tensor:
        return ctx.dequantized(value, tensor)
    axis = list(perm).index(quant.axis)
    return ctx.emit("DequantizeLinear", value, *ctx.parameters(quant, tensor.dtype), axis=axis)


def _sum_is_wide(array: np.ndarray, quant: Quantization, channels: int) -> bool:
    """Whether a sum of int16 times the filters of a channel could need more than 32 bits, half of it for the bias."""
    centred = np.abs(array.astype(np.int64) - _along_axis(quant.zero_point, quant, array.ndim))
    others = tuple(axis for axis in range(array.ndim) if axis != channels)
    return int(centred.sum(axis=others).max(initial=0)) << 15 >= 1 << 30


def _along_axis(parameters: np.ndarray, quant: Quantization, rank: int) -> np.ndarray:
    return parameters if quant.per_tensor else parameters.reshape([-1 if d == quant.axis else 1 for d in range(rank)])


def _reals(array: np.ndarray, quant: Quantization) -> np.ndarray:
    scale, zero_point = (_along_axis(p, quant, array.ndim) for p in (quant.scale, quant.zero_point))
    return ((array - zero_point) * scale.astype(np.float64)).astype(np.float32)


def bias(ctx: OpContext, position: int, x: Tensor, w: Tensor) -> str | None:
    """A bias as floats. Integers are steps of the accumulator, whatever scale they state: that of the input times that
    of the filter, in float32. Those of 64 bits are stored in 32 if they fit, and as floats if not."""
    if not ctx.has(position):
        return None
    tensor = ctx.tensor(position)
    if tensor.type not in ("INT32", "INT64") or x.quantization is None or w.quantization is None:
        return ctx.real(position)
    if not x.quantization.per_tensor:
        raise ctx.unsupported(f"'{x.name}' has scales along an axis")
    scale = (x.quantization.scale * w.quantization.scale).astype(np.float32)
    array = ctx.array(position)
    if array is None:
        return ctx.emit("Mul", ctx.cast(ctx.stored(position), np.float32), ctx.constant(scale))
    if array.ndim != 1 or scale.size not in (1, array.size):
        raise ctx.invalid(f"the bias {list(array.shape)} does not fit {scale.size} scales")
    if np.any((array < _INT32.min) | (array > _INT32.max)):
        return ctx.constant((array * scale.astype(np.float64)).astype(np.float32), "bias")
    stored = ctx.constant(array.astype(np.int32), "bias")
    zero = ctx.constant(np.zeros(scale.size if scale.size > 1 else (), np.int32))
    if scale.size == 1:
        return ctx.emit("DequantizeLinear", stored, ctx.constant(scale.reshape(())), zero)
    return ctx.emit("DequantizeLinear", stored, ctx.constant(scale), zero, axis=0)


def same_padding(extent: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Zeros before and behind, of which there is one more behind where they are odd."""
    total = max((-(-extent // stride) - 1) * stride + (kernel - 1) * dilation + 1 - extent, 0)
    return total // 2, total - total // 2


def window(ctx: OpContext, kernel: tuple[int, int]) -> dict[str, Sequence[int]]:
    """kernel_shape, strides, dilations and pads of ONNX for an input [n, h, w, c]."""
    _, *extents, _ = ctx.shape(0, 4)
    strides = ctx.positive("StrideH"), ctx.positive("StrideW")
    dilations = ctx.positive("DilationHFactor"), ctx.positive("DilationWFactor")
    if min(kernel) < 1:
        raise ctx.invalid(f"a kernel of {list(kernel)}")
    pads = [(0, 0), (0, 0)]
    if ctx.integer("Padding") == SAME:
        pads = [same_padding(*each) for each in zip(extents, kernel, strides, dilations)]
    (top, bottom), (left, right) = pads
    return {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": (top, left, bottom, right)}


def _convolution(ctx: OpContext, perm: Sequence[int], group: int, kernel: tuple[int, int]) -> Sequence[str]:
    operands = [ctx.channels_first(0), weights(ctx, 1, perm, ctx.tensor(0), perm[0])]
    if (offset := bias(ctx, 2, ctx.tensor(0), ctx.tensor(1))) is not None:
        operands.append(offset)
    real = ctx.emit("Conv", *operands, group=group, **window(ctx, kernel))
    return [ctx.channels_last(ctx.result(ctx.activated(real)))]


def conv_2d(ctx: OpContext) -> Sequence[str]:
    """x [n, h, w, i], filter [o, kh, kw, i / groups], bias [o]?"""
    _, kh, kw, depth = ctx.shape(1, 4)
    channels = ctx.shape(0, 4)[3]
    if depth < 1 or channels % depth:
        raise ctx.invalid(f"{channels} channels of the input and {depth} of the filter")
    return _convolution(ctx, OHWI_TO_OIHW, channels // depth, (kh, kw))


def depthwise_conv_2d(ctx: OpContext) -> Sequence[str]:
    """x [n, h, w, c], filter [1, kh, kw, c * multiplier], bias [c * multiplier]?"""
    first, kh, kw, _ = ctx.shape(1, 4)
    if first != 1:
        raise ctx.invalid(f"the filter has the shape {list(ctx.shape(1))}, which begins with 1")
    return _convolution(ctx, HWO_TO_OIHW, ctx.shape(0, 4)[3], (kh, kw))


def transpose_conv(ctx: OpContext) -> Sequence[str]:
    """output_shape [4], filter [o, kh, kw, i], x [n, h, w, i], bias [o]?

    The result has the declared extents; zeros are cut from its borders as they would be put around that of a
    convolution, one more behind.
    """
    _, kh, kw, _ = ctx.shape(1, 4)
    _, *extents, _ = ctx.shape(2, 4)
    _, *wanted, _ = ctx.out_shape(4)
    strides = ctx.positive("StrideH"), ctx.positive("StrideW")
    begin, end, more = [], [], []
    for extent, kernel, stride, out in zip(extents, (kh, kw), strides, wanted):
        total = (extent - 1) * stride + kernel - out
        before = max(total, 0) // 2
        begin.append(before)
        end.append(max(total, 0) - before)
        more.append(max(-total, 0))
        if more[-1] >= stride:
            raise ctx.invalid(f"a result of {out} rows or columns out of {extent}")
    operands = [ctx.channels_first(2), weights(ctx, 1, HWO_TO_OIHW, ctx.tensor(2))]
    if (offset := bias(ctx, 3, ctx.tensor(2), ctx.tensor(1))) is not None:
        operands.append(offset)
    real = ctx.emit(
        "ConvTranspose", *operands, kernel_shape=(kh, kw), strides=strides, pads=(*begin, *end), output_padding=more
    )
    return [ctx.channels_last(ctx.result(ctx.activated(real)))]


def fully_connected(ctx: OpContext) -> Sequence[str]:
    """x [..., i], which is taken as rows of i, weights [o, i], bias [o]?"""
    if ctx.integer("WeightsFormat"):
        raise ctx.unsupported("shuffled weights are not supported", "convert the model for the reference kernels")
    rows, depth = ctx.shape(1, 2)
    shape = ctx.shape(0)
    x = ctx.stored(0)
    if len(shape) != 2 or shape[-1] != depth:
        x = ctx.reshaped(x, (-1, depth) if depth else (0, 0))
    operands = [ctx.dequantized(x, ctx.tensor(0)), weights(ctx, 1, (0, 1), ctx.tensor(0))]
    if (offset := bias(ctx, 2, ctx.tensor(0), ctx.tensor(1))) is not None:
        operands.append(offset)
    result = ctx.result(ctx.activated(ctx.emit("Gemm", *operands, transB=1)))
    if len(ctx.out.shape) == 2 and ctx.out.shape[-1] == rows:
        return [result]
    return [ctx.reshaped(result, ctx.out.shape)]


def batch_matmul(ctx: OpContext) -> Sequence[str]:
    operands = []
    for position, option in enumerate(("AdjX", "AdjY")):
        tensor, value = ctx.tensor(position), ctx.stored(position)
        rank = len(tensor.shape)
        if rank < 2:
            raise ctx.invalid(f"'{tensor.name}' has the shape {list(tensor.shape)}, which is no matrix")
        if tensor.quantization is not None and not tensor.quantization.per_tensor:
            raise ctx.unsupported(f"'{tensor.name}' has scales along an axis")
        if ctx.flag(option):
            value = ctx.transposed(value, [*range(rank - 2), rank - 1, rank - 2])
        operands.append(ctx.dequantized(value, tensor))
    return [ctx.result(ctx.emit("MatMul", *operands))]


RULES: Mapping[str, Rule] = {
    "BATCH_MATMUL": batch_matmul,
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "TRANSPOSE_CONV": transpose_conv,
}
