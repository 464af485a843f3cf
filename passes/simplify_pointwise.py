"""Rules for pointwise operators."""

from __future__ import annotations

import math

import numpy as np

from ..ir.graph import Node, Value
from ..ir.types import DType
from ..ops.attributes import number
from .rewrite import Rewriter, Rule


def _split(rewriter: Rewriter, node: Node, position: int) -> tuple[Value, np.ndarray] | None:
    """The operand of a binary node that gives the result its type, and the constant (at ``position``) beside it."""
    x, array = node.inputs[1 - position], rewriter.array(node.inputs[position])
    if x is None or array is None or x.type != node.output.type:
        return None
    return x, array


def _commuted(rewriter: Rewriter, node: Node) -> tuple[Value, np.ndarray] | None:
    """``_split`` for operators whose operands commute."""
    return _split(rewriter, node, 1) or _split(rewriter, node, 0)


def neutral_factor(rewriter: Rewriter, node: Node) -> Value | None:
    """x * 1 = 1 * x = x / 1 = x ^ 1 = x, exactly."""
    if node.op not in ("mul", "div", "pow"):
        return None
    split = _commuted(rewriter, node) if node.op == "mul" else _split(rewriter, node, 1)
    return split[0] if split is not None and bool(np.all(split[1] == 1)) else None


def neutral_term(rewriter: Rewriter, node: Node) -> Value | None:
    """x + 0 = x - 0 = x, exactly; but of the float zeros only x + -0.0 and x - 0.0 keep x = -0.0 what it is."""
    if node.op not in ("add", "sub"):
        return None
    split = _commuted(rewriter, node) if node.op == "add" else _split(rewriter, node, 1)
    if split is None or np.any(split[1]):
        return None
    x, zero = split
    kept = not x.dtype.is_float or bool(np.all(np.signbit(zero) == (node.op == "add")))
    return x if kept else None


def zero_factor(rewriter: Rewriter, node: Node) -> Value | None:
    """x * 0 = 0 for integers. Not for floats: -1 * 0.0 is -0.0, and infinity * 0 is not a number."""
    split = _commuted(rewriter, node) if node.op == "mul" else None
    if split is None or split[0].dtype.is_float or np.any(split[1]):
        return None
    zero = rewriter.constant(np.zeros((), split[1].dtype), f"{node.output.name}.zero")
    return rewriter.emit("expand", [zero], {"shape": node.output.shape}, loc=node.loc, names=[node.output.name])[0]


def exact_division(rewriter: Rewriter, node: Node) -> Value | None:
    """x / 2^k = x * 2^-k: the same real number, rounded the same way. Other divisors keep their division."""
    divisor = rewriter.array(node.inputs[1]) if node.op == "div" else None
    if divisor is None or divisor.dtype.kind != "f":
        return None
    mantissa, _ = np.frexp(divisor)
    with np.errstate(all="ignore"):
        factor = (1 / divisor).astype(divisor.dtype)
    normal = np.isfinite(factor) & (np.abs(factor) >= np.finfo(divisor.dtype).tiny)
    if not np.all((np.abs(mantissa) == 0.5) & normal):
        return None
    constant = rewriter.constant(factor, f"{node.output.name}.factor")
    return rewriter.emit1("mul", node.inputs[0], constant, loc=node.loc, name=node.output.name)


def small_power(rewriter: Rewriter, node: Node) -> Value | None:
    """x ^ 2 = x * x and x ^ 0.5 = sqrt(x).

    The product and the root are rounded correctly, which a library's pow is not. The root differs from pow at two
    values: it is -0.0 at -0.0, and no number at minus infinity (as at any other negative x).
    """
    split = _split(rewriter, node, 1) if node.op == "pow" else None
    if split is None:
        return None
    x, exponent = split
    if np.all(exponent == 2):
        return rewriter.emit1("mul", x, x, loc=node.loc, name=node.output.name)
    if x.dtype.is_float and np.all(exponent == 0.5):
        return rewriter.emit1("sqrt", x, loc=node.loc, name=node.output.name)
    return None


def bound(rewriter: Rewriter, node: Node) -> Value | None:
    """max(x, c) and min(x, c) with a number c are clips, exactly (clip is defined by both)."""
    split = _commuted(rewriter, node) if node.op in ("max", "min") else None
    if split is None or split[1].size != 1 or np.any(np.isnan(split[1])):
        return None
    x, number = split[0], split[1].reshape(-1)[0].item()
    low, high = _limits(x.dtype)
    return _clip(rewriter, node, x, *((number, high) if node.op == "max" else (low, number)))


def merged_clips(rewriter: Rewriter, node: Node) -> Value | None:
    """clip(clip(x, a, b), c, d) = clip(x, max(a, c), min(b, d)) where the intervals overlap; relu is clip(x, 0, inf).

    Both are the identity inside both intervals and the nearest common bound outside.
    """
    outer = _interval(node)
    inner_node = rewriter.producer(node.inputs[0]) if outer is not None else None
    inner = _interval(inner_node) if inner_node is not None else None
    if outer is None or inner is None or inner_node is None:
        return None
    low, high = max(inner[0], outer[0]), min(inner[1], outer[1])
    if inner[0] > inner[1] or outer[0] > outer[1] or low > high:
        return None
    return _clip(rewriter, node, inner_node.operands[0], low, high)


def plain_clip(rewriter: Rewriter, node: Node) -> Value | None:
    """clip(x, 0, inf) = relu(x) and clip(x, -inf, inf) = x."""
    if node.op != "clip":
        return None
    low, high = _interval(node) or (0, 0)
    least, greatest = _limits(node.output.dtype)
    if high < greatest or (low > least and (low != 0 or math.copysign(1, low) < 0)):
        return None
    return _clip(rewriter, node, node.operands[0], low, high)


def _limits(dtype: DType) -> tuple[float, float]:
    """The least and the greatest value of a type; infinite for floats."""
    if dtype.is_float:
        return -math.inf, math.inf
    limits = np.iinfo(dtype.numpy)
    return int(limits.min), int(limits.max)


def _interval(node: Node) -> tuple[float, float] | None:
    """What a relu or clip clips to, within the limits of the type."""
    least, greatest = _limits(node.output.dtype) if node.op in ("relu", "clip") else (0, 0)
    if node.op == "relu":
        return (0.0 if node.output.dtype.is_float else 0), greatest
    if node.op != "clip":
        return None
    return max(number(node.attrs, "lo"), least), min(number(node.attrs, "hi"), greatest)


def _clip(rewriter: Rewriter, node: Node, x: Value, low: float, high: float) -> Value | None:
    """The plainest operator that clips ``x``."""
    least, greatest = _limits(x.dtype)
    if low <= least and high >= greatest:
        return x if x.type == node.output.type else None
    if low == 0 and math.copysign(1, low) > 0 and high >= greatest:
        return rewriter.emit1("relu", x, loc=node.loc, name=node.output.name)
    return rewriter.emit1("clip", x, loc=node.loc, name=node.output.name, lo=low, hi=high)


def double_inverse(rewriter: Rewriter, node: Node) -> Value | None:
    """-(-x) = x and not not x = x, exactly."""
    inner = rewriter.producer(node.inputs[0]) if node.op in ("neg", "not", "bitnot") else None
    if inner is None or inner.op != node.op or inner.operands[0].type != node.output.type:
        return None
    return inner.operands[0]


def settled_choice(rewriter: Rewriter, node: Node) -> Value | None:
    """where(true, x, y) = x, where(false, x, y) = y, where(c, x, x) = x, for x of the result's shape."""
    if node.op != "where":
        return None
    condition, x, y = node.operands
    array = rewriter.array(condition)
    if x == y or (array is not None and array.all()):
        return x if x.type == node.output.type else None
    return y if array is not None and not array.any() and y.type == node.output.type else None


POINTWISE_RULES: tuple[Rule, ...] = (
    neutral_factor,
    neutral_term,
    zero_factor,
    exact_division,
    small_power,
    bound,
    merged_clips,
    plain_clip,
    double_inverse,
    settled_choice,
)
