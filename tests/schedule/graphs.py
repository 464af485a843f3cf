"""Small graphs of one fused node each, as the optimizer would leave them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ccml.ir.graph import AttrValue, Graph, GraphBuilder, NameSupply, Node, Value
from ccml.ir.types import DType, TensorType
from ccml.ops.fixed_point import have_multipliers
from ccml.ops.table import infer_types

F32 = DType.F32


def conv_graph(
    x: Sequence[int],
    w: Sequence[int],
    *,
    stride: Sequence[int] = (1, 1),
    pad: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    group: int = 1,
    bias: bool = True,
    epilogue: Sequence[str] = (),
) -> Graph:
    """``conv`` of input ``x`` [n, h, w, c] with seeded weights ``w`` [o, kh, kw, c / group].

    ``epilogue`` names pointwise operators behind it: ``relu``, ``sigmoid`` or ``add`` (of a second input ``r``).
    """
    rng = np.random.default_rng(7)
    constants = {"w": rng.standard_normal(tuple(w)).astype(np.float32)}
    if bias:
        constants["b"] = rng.standard_normal(w[0]).astype(np.float32)
    attrs: dict[str, AttrValue] = {
        "stride": tuple(stride), "pad": tuple(pad), "dilation": tuple(dilation), "group": group,
        "layout": "channels_last",
    }  # fmt: skip
    return anchored_graph("conv", {"x": tuple(x)}, constants, attrs, epilogue)


def integer_conv_graph(
    x: Sequence[int],
    w: Sequence[int],
    *,
    stride: Sequence[int] = (1, 1),
    pad: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (),
    group: int = 1,
    zero_point: int = 3,
    dtype: DType = DType.I8,
    lo: int = -128,
    residual: bool = False,
    table: bool = False,
    least: int = -127,
    scale: float = 0.002,
    ties: bool = False,
    rounded: bool = False,
    outliers: Sequence[int] | None = None,
) -> Graph:
    """``conv`` of bytes with its bias, requantized per channel to int8 (not less than ``lo``); with ``residual``, a
    second input ``r`` is added; with ``table``, the result is looked up. Weights are not less than ``least``, scales
    between a tenth of ``scale`` and that; with ``ties`` they are 2^-9, with which halves occur, and with ``rounded``
    such that the rounded upper word of a product is exact, as own quantized depthwise layers have them. With
    ``outliers`` the weights of all other channels are within -8..7."""
    rng = np.random.default_rng(5)
    channels = w[0]
    arrays = {
        "w": rng.integers(least, 128, tuple(w)).astype(np.int8),
        "b": rng.integers(-5000, 5000, channels).astype(np.int32),
        "scale": (rng.uniform(0.1 * scale, scale, channels) / (256 if dtype is DType.I16 else 1)).astype(np.float32),
    }
    if outliers is not None:
        few = rng.integers(-8, 8, tuple(w)).astype(np.int8)
        few[list(outliers)] = arrays["w"][list(outliers)]
        arrays["w"], arrays["b"], arrays["scale"] = few, arrays["b"] // 8, arrays["scale"] * np.float32(8)
    if ties:
        arrays["scale"] = np.full(channels, 2.0**-9, np.float32)
    if rounded:
        arrays["scale"] = with_multipliers(arrays["scale"], lo)
    for array in arrays.values():
        array.flags.writeable = False
    given = Value("x", TensorType(dtype, tuple(x)))
    operands = {n: Value(n, TensorType(DType.from_numpy(a.dtype), a.shape)) for n, a in arrays.items()}
    inner = GraphBuilder(infer_types, NameSupply(["x", *arrays]))
    attrs: dict[str, AttrValue] = {
        "stride": tuple(stride), "pad": tuple(pad), "group": group, "layout": "channels_last",
        "dilation": tuple(dilation) or (1,) * len(stride), "zero_point": zero_point,
    }  # fmt: skip
    acc = inner.emit1("conv", given, operands["w"], operands["b"], loc="anchor", **attrs)
    y = inner.emit1("requantize", acc, operands["scale"], zero_point=-7, lo=lo, hi=127, to=DType.I8, y_scale=0.1)
    inputs = [given]
    if residual:
        inputs.append(Value("r", y.type))
        rescaled: dict[str, AttrValue] = {"m1": 90, "m2": 61, "bias": 640, "shift": 7, "lo": -128, "hi": 127}
        y = inner.emit1("rescale", y, inputs[1], zero_point=3, to=DType.I8, y_scale=0.2, **rescaled)
    if table:
        y = looked_up(inner, y, rng, operands, arrays)
    body = Graph("body", (*inputs, *operands.values()), (y,), tuple(inner.nodes))
    node = Node("fused", body.inputs, (y,), {"body": body}, "layer")
    return Graph("model", tuple(inputs), (y,), (node,), arrays)


def looked_up(
    inner: GraphBuilder, x: Value, rng: np.random.Generator, operands: dict[str, Value], arrays: dict[str, np.ndarray]
) -> Value:
    """``x`` in a random table."""
    arrays["table"] = rng.integers(-128, 128, 256).astype(np.int8)
    arrays["table"].flags.writeable = False
    operands["table"] = Value("table", TensorType(DType.I8, (256,)))
    return inner.emit1("lookup", x, operands["table"], zero_point=0, y_scale=0.1)


def lookup_graph(shape: Sequence[int]) -> Graph:
    """int8 in a random table."""
    x, operands, arrays = Value("x", TensorType(DType.I8, tuple(shape))), dict[str, Value](), dict[str, np.ndarray]()
    inner = GraphBuilder(infer_types, NameSupply(["x", "table"]))
    y = looked_up(inner, x, np.random.default_rng(6), operands, arrays)
    body = Graph("body", (x, *operands.values()), (y,), tuple(inner.nodes))
    return Graph("model", (x,), (y,), (Node("fused", body.inputs, (y,), {"body": body}, "layer"),), arrays)


def sum_of_two_graph(shape: Sequence[int]) -> Graph:
    """``rescale`` of int8 and int8."""
    x, r = (Value(name, TensorType(DType.I8, tuple(shape))) for name in ("x", "r"))
    inner = GraphBuilder(infer_types, NameSupply(["x", "r"]))
    attrs: dict[str, AttrValue] = {"m1": 90, "m2": -61, "bias": 640, "shift": 7, "lo": -120, "hi": 127}
    y = inner.emit1("rescale", x, r, zero_point=3, to=DType.I8, y_scale=0.2, **attrs)
    body = Graph("body", (x, r), (y,), tuple(inner.nodes))
    return Graph("model", (x, r), (y,), (Node("fused", body.inputs, (y,), {"body": body}, "layer"),), {})


def with_multipliers(scales: np.ndarray, lo: int = -128) -> np.ndarray:
    """The next scales with a multiplier that leaves nothing to shift, for sums of up to 20 bits."""
    bounds = [(-(2**19), 2**19)] * scales.size
    while not np.all(found := have_multipliers(scales, bounds, -7, lo, 127, 0, 0)):
        scales = np.where(found, scales, np.nextafter(scales, np.float32(1)))
    return scales


def anchored_graph(
    op: str,
    inputs: dict[str, tuple[int, ...]],
    constants: dict[str, np.ndarray],
    attrs: dict[str, AttrValue],
    epilogue: Sequence[str] = (),
) -> Graph:
    """``op`` of all inputs and constants in order, then ``epilogue``, in one fused node with output ``y``."""
    given = [Value(name, TensorType(F32, shape)) for name, shape in inputs.items()]
    fixed = [Value(name, TensorType(F32, array.shape)) for name, array in constants.items()]
    for array in constants.values():
        array.flags.writeable = False
    inner = GraphBuilder(infer_types, NameSupply([*inputs, *constants, "r"]))
    value = inner.emit1(op, *given, *fixed, loc="anchor", **attrs)
    operands = [*given, *fixed]
    for name in epilogue:
        if name == "add":
            residual = Value("r", value.type)
            operands.append(residual)
            given.append(residual)
            value = inner.emit1("add", value, residual)
        else:
            value = inner.emit1(name, value)
    body = Graph("body", tuple(operands), (value,), tuple(inner.nodes))
    node = Node("fused", tuple(operands), (value,), {"body": body}, "layer")
    return Graph("model", tuple(given), (value,), (node,), constants)


def random_inputs(graph: Graph) -> dict[str, np.ndarray]:
    """Normal floats, and integers over their whole range."""
    rng = np.random.default_rng(11)
    found = {}
    for value in graph.inputs:
        dtype = value.dtype.numpy
        if value.dtype.is_float:
            found[value.name] = rng.standard_normal(value.shape).astype(dtype)
        else:
            info = np.iinfo(dtype)
            found[value.name] = rng.integers(info.min, info.max + 1, value.shape).astype(dtype)
    return found


def sum_graph(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Graph:
    """The sum of int8 over ``axes``, requantized."""
    scale = np.array([0.031], np.float32)
    scale.flags.writeable = False
    x, factor = Value("x", TensorType(DType.I8, shape)), Value("scale", TensorType(DType.F32, (1,)))
    inner = GraphBuilder(infer_types, NameSupply(["x", "scale"]))
    acc = inner.emit1("reduce", x, loc="anchor", kind="sum", axes=axes, keepdims=keepdims, zero_point=-11)
    attrs: dict[str, AttrValue] = {"zero_point": 3, "lo": -128, "hi": 127, "to": DType.I8, "y_scale": 0.1}
    y = inner.emit1("requantize", acc, factor, **attrs)  # type: ignore[arg-type]
    body = Graph("body", (x, factor), (y,), tuple(inner.nodes))
    return Graph("model", (x,), (y,), (Node("fused", body.inputs, (y,), {"body": body}, "layer"),), {"scale": scale})
