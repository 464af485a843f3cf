"""Requantization in integers for cores without an FPU, with the bits of the float definition.

``requantize`` becomes ``requantize_fixed``: all channels take multipliers of 15 bits with one shift, where these are
proven to give the same result for every accumulator that can occur; else each its own of 31 bits, and binary32 in
integers where there is none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ir.types import DType, TensorType
from ..ops.accumulators import Bounds, operand_bounds
from ..ops.attributes import integer
from ..ops.fixed_point import FixedPoint, exact_multipliers, float_parts
from ..ops.halfword_factors import halfword_factors


def requantize_in_integers(graph: Graph) -> Graph:
    """``graph`` with every requantization replaced inside its fused node."""
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
        known = {**constants, **inside}
        fixed = _fixed(inner, known, operand_bounds(body, inner, known)) if inner.op == "requantize" else None
        if fixed is None:
            nodes.append(inner)
            continue
        operands = []
        for stem, array in zip(("factor", "shift"), fixed):
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


def _fixed(
    node: Node, constants: dict[str, np.ndarray], reach: Bounds | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Factors in the shape of the scales, and shifts likewise or one for all; ``None`` for scales beyond all sense."""
    scale = node.inputs[1]
    assert scale is not None
    scales = constants[scale.name]
    if not np.all((scales > 0) & (scales < 2.0**23)):
        return None
    found = _exact(node, scales.reshape(-1), reach)
    pairs = [float_parts(each) if pair is None else pair for each, pair in zip(scales.reshape(-1), found, strict=True)]
    factors, shifts = (np.array(column, np.int32) for column in zip(*pairs))
    common = np.all(shifts == shifts[0])
    return _readonly(factors.reshape(scales.shape)), _readonly(shifts[0] if common else shifts.reshape(scales.shape))


def _exact(node: Node, scales: np.ndarray, reach: Bounds | None) -> list[tuple[int, int] | None]:
    """Multiplier and shift beyond the upper word of the product, for each channel that has them."""
    if "acc_lo" not in node.attrs:
        return [None] * len(scales)
    low, high = (np.full(scales.size, integer(node.attrs, name), np.int64) for name in ("acc_lo", "acc_hi"))
    if reach is not None:
        least, greatest = reach
        least, greatest = (least, greatest) if scales.size == least.size else (least.min(), greatest.max())
        low, high = np.maximum(low, least), np.minimum(high, greatest)
    zero, lo, hi = (integer(node.attrs, name) for name in ("zero_point", "lo", "hi"))
    bounds = [(int(a), int(b)) for a, b in zip(low, high)]
    halfwords = halfword_factors(scales, bounds, zero, lo, hi)
    if halfwords is not None:
        factors, shift = halfwords
        return [(factor << 16, shift - 16) for factor in factors.tolist()]
    return [None if form is None else _shifted(form) for form in exact_multipliers(scales, bounds, zero, lo, hi)]


def _shifted(form: FixedPoint) -> tuple[int, int] | None:
    """The form with a shift of at least 1, so that the upper word of the product need not be rounded."""
    doubled = max(0, 1 - form.post_shift)
    fits = form.pre_shift == 0 and form.multiplier << doubled < 1 << 31
    return (form.multiplier << doubled, form.post_shift + doubled) if fits else None


def _readonly(array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    array.flags.writeable = False
    return array
