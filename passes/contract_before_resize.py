"""Products within pixels go before an enlargement of the image, where fewer pixels have them.

A resize is a sum of gathered pixels, with factors that are the same for all channels, and a product W goes on within a
pixel, so the two commute; of concatenated channels W's columns go to the part that they are for::

    W resize(x) + b              =  resize(W x) + b
    W concat(x, resize(y)) + b   =  (Wx x + b) + resize(Wy y)

This holds in real arithmetic; in floats the same products are added in another order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import prod

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ops.attributes import integer
from .products import keeps_channels, product
from .rewrite import Rewriter, rewrite, until_stable
from .views import reshape

LEAST_GAIN = 2
"""How many pixels a resize makes of one, at least, before it is worth its while to add a part on its own."""


def contract_before_resize(graph: Graph) -> Graph:
    """``graph`` with products on the smaller side of resizes whose results nobody else reads."""
    return until_stable(graph, lambda g: rewrite(g, _Walk().visit))


@dataclass
class _Walk:
    """Of one walk over a graph: what is known of the values so far."""

    sources: dict[str, Value] = field(default_factory=dict)
    """The value of whose pixels a value is a sum, if it is not itself; in the order of the graph."""

    def visit(self, rewriter: Rewriter, node: Node) -> Value | None:
        found = {self.sources.get(operand.name, operand) for operand in _resized_operands(rewriter, node)}
        if len(found) == 1:
            self.sources[node.output.name] = found.pop()
        return self._moved(rewriter, node)

    def _moved(self, rewriter: Rewriter, node: Node) -> Value | None:
        found = product(rewriter, node)
        if found is None:
            return None
        parts = _parts(rewriter, found.x)
        ends = np.cumsum([part.shape[-1] for part in parts])
        rest: list[tuple[Value, np.ndarray]] = []
        moved: list[Value] = []
        for part, weights in zip(parts, np.split(found.weights, ends[:-1])):
            steps = self._steps(rewriter, part) if found.channels <= part.shape[-1] else []
            if steps:
                moved.append(_resized(rewriter, node, self.sources[part.name], steps, weights))
            else:
                rest.append((part, weights))
        if not moved:
            return None
        if rest:
            moved.append(_rest(rewriter, node, rest))
        elif found.bias is not None:
            moved.append(rewriter.constant(found.bias, f"{node.output.name}.bias"))
        total, *others = moved
        for term in others:
            if term.shape[:-1] and term.shape != total.shape:
                total, term = (reshape(rewriter, value, node.output.shape, loc=node.loc) for value in (total, term))
            (total,) = rewriter.emit("add", [term, total], loc=node.loc)
        return reshape(rewriter, total, node.output.shape, loc=node.loc, name=node.output.name)

    def _steps(self, rewriter: Rewriter, value: Value) -> list[Node]:
        """The nodes that make ``value`` of its source, in order; none where it does not have many more pixels, or where
        something else reads what is between the two."""
        source = self.sources.get(value.name, value)
        if _pixels(value) < LEAST_GAIN * _pixels(source) or not rewriter.used_once(value):
            return []
        found: dict[str, Node] = {}
        pending = [value]
        while pending:
            inner = pending.pop()
            node = rewriter.producer(inner)
            if inner != source and inner.name not in found and node is not None:
                found[inner.name] = node
                pending += _resized_operands(rewriter, node)
        reads = Counter(operand.name for node in found.values() for operand in node.operands)
        if any(rewriter.uses(found[name].output) != reads[name] for name in found if name != value.name):
            return []
        return [found[name] for name in self.sources if name in found]


def _resized_operands(rewriter: Rewriter, node: Node) -> list[Value]:
    """What ``node`` takes pixels from, where it is a step of a resize; nothing where it is none."""
    if not node.operands or len(node.outputs) != 1:
        return []
    x, *others = node.operands
    if keeps_channels(node):
        return [x]
    if node.op == "gather":
        along_pixels = integer(node.attrs, "axis") < len(x.shape) - 1 and len(others[0].shape) == 1
        return [x] if along_pixels and _pixels(x) <= _pixels(node.output) else []
    if node.op == "mul":
        factors = [other for other in node.operands if rewriter.is_constant(other)]
        images = [image for image in node.operands if image.shape == node.output.shape and image not in factors]
        return images if len(images) == len(factors) == 1 and factors[0].shape[-1:] in ((), (1,)) else []
    if node.op == "add" and all(operand.shape == node.output.shape for operand in node.operands):
        return list(node.operands)
    return []


def _parts(rewriter: Rewriter, x: Value) -> list[Value]:
    """The values whose channels, one behind the other, are those of ``x``."""
    parts, pending = [], [x]
    while pending:
        value = pending.pop()
        node = rewriter.producer(value) if rewriter.used_once(value) else None
        if node is not None and keeps_channels(node):
            pending.append(node.operands[0])
        elif node is not None and node.op == "concat" and integer(node.attrs, "axis") == len(value.shape) - 1:
            pending += reversed(node.operands)
        else:
            parts.append(value)
    return parts


def _rest(rewriter: Rewriter, node: Node, parts: list[tuple[Value, np.ndarray]]) -> Value:
    """``node`` on the channels of ``parts`` alone, each with its rows of the weights."""
    pixels, stem = node.operands[0].shape[:-1], f"{node.output.name}.rest"
    operands = [reshape(rewriter, part, (*pixels, part.shape[-1]), loc=node.loc) for part, _ in parts]
    x = operands[0]
    if len(parts) > 1:
        (x,) = rewriter.emit("concat", operands, {"axis": len(pixels)}, loc=node.loc)
    weights = np.concatenate([weights for _, weights in parts])
    if node.op == "conv":
        weights = weights.T.reshape(-1, *node.operands[1].shape[1:-1], x.shape[-1])
    constant = rewriter.constant(np.ascontiguousarray(weights), f"{stem}.weights")
    return rewriter.emit(node.op, [x, constant, *node.inputs[2:]], node.attrs, loc=node.loc, names=[stem])[0]


def _resized(rewriter: Rewriter, node: Node, x: Value, steps: list[Node], weights: np.ndarray) -> Value:
    """What ``node``'s sum has of the last of ``steps``: the product with ``weights`` of ``x``, and then the resize."""
    stem, channels = f"{node.output.name}.before_resize", weights.shape[1]
    constant = rewriter.constant(np.ascontiguousarray(weights), f"{stem}.weights")
    pixels = reshape(rewriter, x, (_pixels(x), x.shape[-1]), loc=node.loc)
    (small,) = rewriter.emit("matmul", [pixels, constant], loc=node.loc, names=[stem])
    moved = {x.name: reshape(rewriter, small, (*x.shape[:-1], channels), loc=node.loc)}
    for step in steps:
        operands = [moved.get(value.name, value) for value in step.operands]
        attrs = {"shape": (*step.output.shape[:-1], channels)} if step.op == "reshape" else step.attrs
        (moved[step.output.name],) = rewriter.emit(step.op, operands, attrs, loc=step.loc)
    return moved[steps[-1].output.name]


def _pixels(value: Value) -> int:
    return prod(value.shape[:-1])
