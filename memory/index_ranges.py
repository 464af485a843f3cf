"""Ranges of ``index`` expressions over all iterations of the loops around them at once, as NumPy arrays.

Every loop that is followed step by step is an axis of the arrays; an expression that does not depend on it has extent
1 there. Where arrays hold exact values, least and greatest are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..ir.loops import BOOL, INDEX, Binary, Const, Expr, Select, Unary, Var
from ..record import record


@dataclass(frozen=True)
class Range:
    """The least and the greatest value, elementwise: the same array where the value is known."""

    low: np.ndarray
    high: np.ndarray

    @property
    def exact(self) -> bool:
        return bool(np.array_equal(self.low, self.high))


Truth = tuple[np.ndarray, np.ndarray]
"""Where a condition may hold, and where it may fail."""

_COMPARE: dict[str, Callable[[Range, Range], np.ndarray]] = {
    "lt": lambda x, y: x.low < y.high,
    "le": lambda x, y: x.low <= y.high,
    "gt": lambda x, y: x.high > y.low,
    "ge": lambda x, y: x.high >= y.low,
    "eq": lambda x, y: (x.low <= y.high) & (y.low <= x.high),
    "ne": lambda x, y: (x.low != x.high) | (y.low != y.high) | (x.low != y.low),
}
_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


@record
class Scope:
    """The variables that are known at one point of a kernel with at most ``depth`` nested loops."""

    depth: int
    ranges: dict[Var, Range] = field(default_factory=dict)
    truths: dict[Var, Truth] = field(default_factory=dict)

    def constant(self, low: int, high: int | None = None) -> Range:
        """The numbers from ``low`` to ``high``, in every iteration."""
        shape = (1,) * self.depth
        least = np.full(shape, low, np.int64)
        return Range(least, least if high is None or high == low else np.full(shape, high, np.int64))

    def stepped(self, var: Var, axis: int, extent: int) -> Scope:
        """With a loop variable that is followed step by step along ``axis``."""
        shape = [1] * self.depth
        shape[axis] = extent
        steps = np.arange(extent, dtype=np.int64).reshape(shape)
        return self.bound(var, Range(steps, steps))

    def bound(self, var: Var, value: Range) -> Scope:
        return replace(self, ranges={**self.ranges, var: value})

    def with_let(self, var: Var, value: Expr) -> Scope:
        """After ``let var = value``."""
        if var.type == BOOL:
            return replace(self, truths={**self.truths, var: self.truth(value)})
        known = self.range(value) if var.type == INDEX else None
        return self if known is None else self.bound(var, known)

    # ------------------------------------------------------------ values

    def range(self, expr: Expr) -> Range | None:
        """``None`` for what is loaded from memory or not understood."""
        if isinstance(expr, Const):
            return self.constant(int(expr.value))
        if isinstance(expr, Var):
            return self.ranges.get(expr)
        if isinstance(expr, Unary) and expr.op == "neg":
            x = self.range(expr.x)
            return None if x is None else Range(-x.high, -x.low)
        if isinstance(expr, Select):
            return self._select(expr)
        if isinstance(expr, Binary):
            x, y = self.range(expr.x), self.range(expr.y)
            return None if x is None or y is None else _arithmetic(expr.op, x, y)
        return None

    def _select(self, expr: Select) -> Range | None:
        x, y = self.range(expr.x), self.range(expr.y)
        if x is None or y is None:
            return None
        holds, fails = self.truth(expr.cond)
        low = np.where(~fails, x.low, np.where(~holds, y.low, np.minimum(x.low, y.low)))
        high = np.where(~fails, x.high, np.where(~holds, y.high, np.maximum(x.high, y.high)))
        return Range(low, high)

    # ------------------------------------------------------------ conditions

    def truth(self, cond: Expr) -> Truth:
        """Where ``cond`` may hold, and where it may fail."""
        if isinstance(cond, Var) and cond in self.truths:
            return self.truths[cond]
        if isinstance(cond, Const):
            holds = np.full((1,) * self.depth, bool(cond.value))
            return holds, ~holds
        if isinstance(cond, Unary) and cond.op == "not":
            holds, fails = self.truth(cond.x)
            return fails, holds
        if isinstance(cond, Binary) and cond.op in ("and", "or"):
            (x, not_x), (y, not_y) = self.truth(cond.x), self.truth(cond.y)
            return (x & y, not_x | not_y) if cond.op == "and" else (x | y, not_x & not_y)
        if isinstance(cond, Binary) and cond.op in _COMPARE and cond.x.type == INDEX:
            left, right = self.range(cond.x), self.range(cond.y)
            if left is not None and right is not None:
                return _COMPARE[cond.op](left, right), _COMPARE[_NEGATED[cond.op]](left, right)
        always = np.full((1,) * self.depth, True)
        return always, always


_EXACT: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def _arithmetic(op: str, x: Range, y: Range) -> Range | None:
    if op in _EXACT and x.low is x.high and y.low is y.high:
        value = _EXACT[op](x.low, y.low)
        return Range(value, value)
    if op == "add":
        return Range(x.low + y.low, x.high + y.high)
    if op == "sub":
        return Range(x.low - y.high, x.high - y.low)
    if op in ("min", "max"):
        pick = np.minimum if op == "min" else np.maximum
        return Range(pick(x.low, y.low), pick(x.high, y.high))
    if op == "mul":
        corners = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
        return Range(np.minimum.reduce(corners), np.maximum.reduce(corners))
    if op not in ("floordiv", "floormod") or y.low.size != 1 or y.low.item() != y.high.item() or y.low.item() <= 0:
        return None
    divisor = y.low.item()
    low, high = x.low // divisor, x.high // divisor
    if op == "floordiv":
        return Range(low, high)
    same = low == high
    return Range(np.where(same, x.low - low * divisor, 0), np.where(same, x.high - high * divisor, divisor - 1))
