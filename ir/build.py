"""What loop IR is built with, so that the code reads like its text.

::

    store(y[i], select(lt(x[i], 0), -x[i], x[i] >> 3))    y[i] = select(x[i] < 0i32, -x[i], x[i] >> 3i32)
    store(acc[0], acc[0] + I32(w[c, k]) * word)           acc[0] = acc[0] + convert<i32>(w[c, k]) * word

Operators of :class:`~ccml.ir.loops.Expr`, indices of buffers and types as functions do the rest. Numbers become
literals of the type that they meet, with its lanes. ``==`` on expressions compares trees, so comparisons are functions.
"""

from __future__ import annotations

from collections.abc import Iterable

from .loops import (
    Binary,
    Bitcast,
    Buffer,
    Const,
    Expr,
    ExprLike,
    Load,
    Select,
    Store,
    Type,
    Unary,
    as_expr,
    binary,
    const,
)
from .types import DType


def eq(x: ExprLike, y: ExprLike) -> Expr:
    return binary("eq", x, y)


def ne(x: ExprLike, y: ExprLike) -> Expr:
    return binary("ne", x, y)


def lt(x: ExprLike, y: ExprLike) -> Expr:
    return binary("lt", x, y)


def le(x: ExprLike, y: ExprLike) -> Expr:
    return binary("le", x, y)


def gt(x: ExprLike, y: ExprLike) -> Expr:
    return binary("gt", x, y)


def ge(x: ExprLike, y: ExprLike) -> Expr:
    return binary("ge", x, y)


def minimum(x: ExprLike, y: ExprLike) -> Expr:
    """``min``, whose result is ``y`` where an operand is NaN."""
    return binary("min", x, y)


def maximum(x: ExprLike, y: ExprLike) -> Expr:
    """``max``, whose result is ``y`` where an operand is NaN."""
    return binary("max", x, y)


def clamped(expr: Expr) -> tuple[Expr, Const, Const] | None:
    """``x``, ``least`` and ``most`` of ``min(max(x, least), most)`` with constants; ``None`` of other expressions."""
    if not isinstance(expr, Binary) or expr.op != "min" or not isinstance(expr.x, Binary) or expr.x.op != "max":
        return None
    least, most = expr.x.y, expr.y
    return (expr.x.x, least, most) if isinstance(least, Const) and isinstance(most, Const) else None


def absolute(x: Expr) -> Expr:
    return Unary("abs", x)


def all_of(tests: Iterable[Expr]) -> Expr | None:
    """The conjunction, or ``None`` of nothing."""
    found: Expr | None = None
    for test in tests:
        found = test if found is None else found & test
    return found


def select(cond: Expr, x: ExprLike, y: ExprLike) -> Expr:
    """``x`` where ``cond``, else ``y``; one of them may be a number."""
    type_ = x.type if isinstance(x, Expr) else y.type if isinstance(y, Expr) else None
    assert type_ is not None, "a choice between two numbers has no type"
    return Select(cond, as_expr(x, type_), as_expr(y, type_))


def convert(x: Expr, dtype: DType) -> Expr:
    """``x`` by value as another element type, with its lanes; literals become floats at once."""
    target = Type(dtype, x.type.lanes)
    return const(x.value, target) if isinstance(x, Const) and dtype.is_float else target(x)


def bits(x: Expr, dtype: DType) -> Expr:
    """The bits of ``x`` as ``dtype``, an element type of the same size."""
    return Bitcast(Type(dtype, x.type.lanes), x)


def load(buffer: Buffer, *index: ExprLike, lanes: int = 1, active: Expr | None = None) -> Load:
    """``lanes`` neighbouring elements; one alone is ``buffer[index]``."""
    return Load(buffer, tuple(as_expr(i) for i in index), lanes, active)


def store(place: Load, value: ExprLike, active: Expr | None = None) -> Store:
    """``place = value``; as many lanes as ``value`` has."""
    return Store(place.buffer, place.index, as_expr(value, place.buffer.type), active)
