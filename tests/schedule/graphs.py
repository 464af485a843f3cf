"""Small graphs of one fused node each, as the optimizer would leave them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ccml.ir.graph import AttrValue, Graph, GraphBuilder, NameSupply, Node, Value
from ccml.ir.types import DType, TensorType
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
    rng = np.random.default_rng(11)
    return {v.name: rng.standard_normal(v.shape).astype(v.dtype.numpy) for v in graph.inputs}
