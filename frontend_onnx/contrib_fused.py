"""What optimizers fuse, of ONNX Runtime's own domain: products and what stands behind them, biases and gates, and small
operators of integers and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .contrib_body import Body, Rule, Unsupported
from .contrib_float import fast_gelu

# ---------------------------------------------------------------- activations

_ACTIVATIONS: Mapping[str, tuple[str, ...]] = {
    "Relu": (), "Sigmoid": (), "Tanh": (), "Softplus": (), "Softsign": (), "LeakyRelu": ("alpha",), "Elu": ("alpha",),
    "ThresholdedRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "Selu": ("alpha", "gamma"),
}  # fmt: skip


def _activated(body: Body, y: str, parameters: Sequence[float | None]) -> str:
    """``y`` behind the activation that the node names, if any."""
    name = body.text("activation", "")
    if not name:
        return y
    if name == "Clip":
        return body.emit("Clip", y, *("" if p is None else body.number(p) for p in parameters[:2]))
    if name not in _ACTIVATIONS:
        raise Unsupported(f"the activation {name}")
    return body.emit(name, y, **dict(zip(_ACTIVATIONS[name], parameters)))


def _named_parameters(body: Body) -> tuple[float | None, float | None]:
    """Of an activation whose attributes have names of their own."""
    alpha, beta, gamma = (body.attributes.get(f"activation_{name}") for name in ("alpha", "beta", "gamma"))
    return alpha, gamma if body.text("activation", "") == "Selu" else beta


# ---------------------------------------------------------------- products


def _convolved(body: Body, x: str, w: str) -> str:
    names = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    return body.emit("Conv", x, w, body.input(2), **{name: body.attributes.get(name) for name in names})


def _fused_conv(body: Body) -> str:
    y = _convolved(body, body.input(0), body.input(1))
    if body.input(3):
        y = body.emit("Add", y, body.input(3))
    return _activated(body, y, body.attributes.get("activation_params", ()))


def _conv_channels_last(body: Body) -> str:
    """Images and weights [M, kH, kW, C] have their channels last."""
    x, w = (body.channels_first(body.input(place), place) for place in range(2))
    return body.channels_last(_convolved(body, x, w), 0)


def _fused_gemm(body: Body) -> str:
    names = ("alpha", "beta", "transA", "transB")
    given = {name: body.attributes.get(name) for name in names}
    y = body.emit("Gemm", *(body.input(place) for place in range(3)), **given)
    return _activated(body, y, _named_parameters(body))


def _fused_matmul(body: Body) -> str:
    """Matrices may be transposed, and have their rows before the dimensions of the batch."""
    flags = [(bool(body.attributes.get(f"trans{x}", 0)), bool(body.attributes.get(f"transBatch{x}", 0))) for x in "AB"]
    y = body.emit("MatMul", *(_transposed(body, place, last, batch) for place, (last, batch) in enumerate(flags)))
    alpha = body.attributes.get("alpha", 1.0)
    return y if alpha == 1.0 else body.emit("Mul", y, body.number(alpha))


def _transposed(body: Body, place: int, last: bool, batch: bool) -> str:
    rank = len(body.shape(place))
    perm = list(range(rank))
    if batch and rank > 2:
        perm = [*range(1, rank - 1), 0, rank - 1]
    if last and rank > 1:
        perm[-2:] = perm[:-3:-1]
    x = body.input(place)
    return x if perm == sorted(perm) else body.transpose(x, *perm)


def _nhwc_fused_conv(body: Body) -> str:
    """Images and what is added have their channels last, weights ``[M, C, kH, kW]`` as ONNX has them."""
    y = body.channels_last(_convolved(body, body.channels_first(body.input(0), 0), body.input(1)), 0)
    y = body.emit("Add", y, body.input(3)) if body.input(3) else y
    return _activated(body, y, body.attributes.get("activation_params", ()))


def _gemm_fast_gelu(body: Body) -> str:
    y = body.emit("MatMul", body.input(0), body.input(1))
    return fast_gelu(body, body.emit("Add", y, body.input(2)) if body.input(2) else y)


def _matmul_activation(body: Body) -> str:
    y, name = _fused_matmul(body), body.text("activation", "")
    if name in ("Softmax", "LogSoftmax"):
        return body.emit(name, y, axis=body.attributes.get("activation_axis", -1))
    return _activated(body, y, _named_parameters(body))


# ---------------------------------------------------------------- biases and gates


def _bias_add(body: Body) -> str:
    return body.emit("Add", body.emit("Add", body.input(0), body.input(1)), body.input(2))


def _bias_dropout(body: Body) -> tuple[str, ...]:
    """data, bias, residual?, ratio?, training?, of which the last is random by definition."""
    body.refuse(4)
    y = body.emit("Add", body.input(0), body.input(1))
    mask = body.emit("Expand", body.constant(np.array(True)), body.emit("Shape", y))
    return body.emit("Add", y, body.input(2)) if body.input(2) else y, mask


def _bias_split_gelu(body: Body) -> str:
    """The left half of the columns times GELU of the right half."""
    body.opset = 20
    x, width = body.emit("Add", body.input(0), body.input(1)), body.shape(0)[-1]
    if width % 2:
        raise ValueError(f"{width} columns have no halves")
    left, right = body.emit_all("Split", [x], 2, axis=-1, num_outputs=2)
    return body.emit("Mul", left, body.emit("Gelu", right))


def _swiglu(body: Body) -> str:
    """gate, up?, where the columns of the gate hold both if the latter is absent: g * sigmoid(alpha * g) * (up + beta),
    with both clamped by a limit above 0."""
    alpha, beta = body.attributes.get("activation_alpha", 1.0), body.attributes.get("activation_beta", 0.0)
    limit, gate = body.attributes.get("limit", 0.0), body.wide(0)
    if body.input(1):
        up = body.wide(1)
    elif body.shape(0)[-1] % 2:
        raise ValueError(f"{body.shape(0)[-1]} columns have no halves")
    else:
        gate, up = body.emit_all("Split", [gate], 2, axis=-1, num_outputs=2)
    if limit > 0:
        most = body.constant(np.float32(limit))
        gate, up = body.emit("Min", gate, most), body.emit("Clip", up, body.constant(np.float32(-limit)), most)
    y = body.silu(gate, body.constant(np.float32(alpha)))
    if body.attributes.get("round_activation", 0):
        y = body.cast(body.emit("CastLike", y, body.input(0)), np.float32)
    up = body.emit("Add", up, body.constant(np.float32(beta))) if beta else up
    return body.emit("CastLike", body.emit("Mul", y, up), body.input(0))


# ---------------------------------------------------------------- integers and checks


def _mul_integer(body: Body) -> str:
    """A, its zero point?, B, its zero point?; int32."""
    factors = []
    for place in (0, 2):
        x = body.cast(body.input(place), np.int32)
        zero = body.input(place + 1)
        factors.append(body.emit("Sub", x, body.cast(zero, np.int32)) if zero else x)
    return body.emit("Mul", *factors)


def _sum_integer(body: Body) -> str:
    """Of bytes, in 32 bits of the same sign."""
    wide = np.int32 if np.issubdtype(body.dtype(0), np.signedinteger) else np.uint32
    axes = body.integers(*body.attributes["axes"])
    return body.emit("ReduceSum", body.cast(body.input(0), wide), axes, keepdims=body.attributes["keepdims"])


def _all_finite(body: Body) -> str:
    """Whether no number of any operand is infinite or none, or only one of the two."""
    names = ("isinf_only", "isnan_only")
    only = [bool(body.attributes.get(name, 0)) for name in names]
    if all(only):
        raise ValueError("both isinf_only and isnan_only")
    checks = [op for op, other in (("IsInf", only[1]), ("IsNaN", only[0])) if not other]
    found = []
    for name in body.inputs:
        flags = [body.cast(body.emit(check, name), np.int32) for check in checks]
        flag = body.emit("Max", *flags)
        found.append(body.emit("ReduceMax", flag, keepdims=0))
    return body.emit("Equal", body.emit("Max", *found), body.constant(np.int32(0)))


RULES: Mapping[str, Rule] = {
    "BiasAdd": _bias_add,
    "BiasDropout": _bias_dropout,
    "BiasSplitGelu": _bias_split_gelu,
    "FusedConv": _fused_conv,
    "FusedGemm": _fused_gemm,
    "FusedMatMul": _fused_matmul,
    "FusedMatMulActivation": _matmul_activation,
    "GemmFastGelu": _gemm_fast_gelu,
    "IsAllFinite": _all_finite,
    "MulInteger": _mul_integer,
    "NhwcConv": _conv_channels_last,
    "NhwcFusedConv": _nhwc_fused_conv,
    "ReduceSumInteger": _sum_integer,
    "SwiGLU": _swiglu,
    "TransposeMatMul": _fused_matmul,
}
"""By name."""
