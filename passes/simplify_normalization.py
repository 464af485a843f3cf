"""Recognizes normalizations that are written out, as exporters did before ONNX had operators for them."""

from __future__ import annotations

import math

from ..ir.graph import AttrValue, Node, Value, join_locs
from ..ops.attributes import flag, ints
from .rewrite import Rewriter, Rule


def written_out_normalization(rewriter: Rewriter, node: Node) -> Value | None:
    """d / sqrt(mean(d * d) + epsilon) is ``rms_normalize(d)``, and with d = x - mean(x) it is ``normalize(x)``.

    The same sums and quotients; the order of sums is left open, and the quotient may be a product with the reciprocal.
    """
    found = _quotient(rewriter, node)
    if found is None:
        return None
    d, root = found
    total = rewriter.producer(root.operands[0])
    if total is None or total.op != "add":
        return None
    for position in (0, 1):
        mean, epsilon = rewriter.producer(total.operands[position]), rewriter.array(total.operands[1 - position])
        if mean is None or epsilon is None or epsilon.size != 1 or not _is_mean_square(rewriter, mean, d):
            continue
        number = float(epsilon.reshape(()))
        if not (math.isfinite(number) and number >= 0) or d.shape != node.output.shape:
            return None
        axes = ints(mean.attrs, "axes")
        x = _centred(rewriter, d, axes)
        op, operand = ("rms_normalize", d) if x is None else ("normalize", x)
        loc = join_locs(root.loc, node.loc)
        attrs: dict[str, AttrValue] = {"axes": axes, "epsilon": number}
        return rewriter.emit(op, [operand], attrs, loc=loc, names=[node.output.name])[0]
    return None


def _quotient(rewriter: Rewriter, node: Node) -> tuple[Value, Node] | None:
    """d and the root of ``d / root``, or of ``d * (1 / root)``."""
    if node.op not in ("div", "mul") or not node.output.dtype.is_float:
        return None
    for position in (1,) if node.op == "div" else (0, 1):
        root = rewriter.producer(node.operands[position])
        if node.op == "mul":
            root = _inverted(rewriter, root)
        if root is not None and root.op == "sqrt":
            return node.operands[1 - position], root
    return None


def _inverted(rewriter: Rewriter, node: Node | None) -> Node | None:
    """What ``node`` is the reciprocal of."""
    if node is None or node.op not in ("reciprocal", "div"):
        return None
    if node.op == "div":
        one = rewriter.array(node.operands[0])
        if one is None or one.size != 1 or float(one.reshape(())) != 1.0:
            return None
    return rewriter.producer(node.operands[-1])


def _is_mean_square(rewriter: Rewriter, mean: Node, d: Value) -> bool:
    square = rewriter.producer(mean.operands[0])
    if not _is_mean(mean) or square is None:
        return False
    if square.op == "pow":
        exponent = rewriter.array(square.operands[1])
        return square.operands[0] == d and exponent is not None and exponent.size == 1 and exponent.reshape(()) == 2
    return square.op == "mul" and square.operands[0] == d and square.operands[1] == d


def _is_mean(node: Node) -> bool:
    return node.op == "reduce" and node.attrs["kind"] == "mean" and flag(node.attrs, "keepdims")


def _centred(rewriter: Rewriter, d: Value, axes: tuple[int, ...]) -> Value | None:
    """x of d = x - mean(x) over the same axes."""
    difference = rewriter.producer(d)
    if difference is None or difference.op != "sub":
        return None
    x, mean = difference.operands[0], rewriter.producer(difference.operands[1])
    same = mean is not None and _is_mean(mean) and mean.operands[0] == x and ints(mean.attrs, "axes") == axes
    return x if same else None


NORMALIZATION_RULES: tuple[Rule, ...] = (written_out_normalization,)
