"""Requantization in integers for cores without an FPU, with the bits of the float definition.

``requantize`` becomes ``requantize_fixed`` where a multiplier and a shift are proven, channel by channel, to give the
same result for every accumulator that can occur. Where there is none the float definition stays: the compiler's float
routines are IEEE 754 as well, only slow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ir.types import DType, TensorType
from ..ops.fixed_point import exact_multipliers
from ..ops.infer import integer


def requantize_in_integers(graph: Graph) -> Graph:
    """``graph`` with every requantization for which a proof is found replaced inside its fused node."""
    constants = dict(graph.constants)
    nodes = [_rewritten(node, constants) for node in graph.nodes]
    return replace(graph, nodes=tuple(nodes), constants=constants)


def _rewritten(node: Node, constants: dict[str, np.ndarray]) -> Node:
    body = node.attrs.get("body")
    if not isinstance(body, Graph) or all(inner.op != "requantize" for inner in body.nodes):
        return node
    inside = dict(body.constants)
    added: list[Value] = []
    nodes = []
    for inner in body.nodes:
        fixed = _fixed(inner, {**constants, **inside}) if inner.op == "requantize" else None
        if fixed is None:
            nodes.append(inner)
            continue
        operands = []
        for stem, array in zip(("multiplier", "shift"), fixed):
            value = Value(f"{inner.output.name}_{stem}", TensorType(DType.I32, array.shape))
            (inside if array.size == 1 else constants)[value.name] = array
            added.extend(() if array.size == 1 else (value,))
            operands.append(value)
        nodes.append(replace(inner, op="requantize_fixed", inputs=(inner.inputs[0], *operands)))
    read = {value.name for inner in nodes for value in inner.operands}
    inputs = (*(value for value in node.operands if value.name in read), *added)
    inside = {name: array for name, array in inside.items() if name in read}
    rewritten = replace(body, inputs=inputs, nodes=tuple(nodes), constants=inside)
    return replace(node, inputs=inputs, attrs={**node.attrs, "body": rewritten})


def _fixed(node: Node, constants: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray] | None:
    """Multipliers and shifts in the shape of the scales; ``None`` where a channel has none."""
    scale = node.inputs[1]
    assert scale is not None
    if "acc_lo" not in node.attrs:
        return None
    scales = constants[scale.name]
    bounds = [(integer(node.attrs, "acc_lo"), integer(node.attrs, "acc_hi"))] * scales.size
    zero_point, lo, hi = (integer(node.attrs, name) for name in ("zero_point", "lo", "hi"))
    found = exact_multipliers(scales.reshape(-1), bounds, zero_point, lo, hi)
    if any(form is None for form in found):
        return None
    multipliers = np.array([form.multiplier for form in found if form is not None], np.int32)
    shifts = np.array([32 + form.post_shift - form.pre_shift for form in found if form is not None], np.int32)
    return _readonly(multipliers.reshape(scales.shape)), _readonly(shifts.reshape(scales.shape))


def _readonly(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
