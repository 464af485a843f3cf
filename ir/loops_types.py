"""The typing rules of single loop-IR expressions, as stated at the head of ``ir/loops.py``.

Each rule gives the complaint about one expression, with the invariant that is broken in front, or none; operands are
checked elsewhere. Access to buffers is the verifier's part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from .instructions import Instruction
from .loops import (
    ARITHMETIC_OPS,
    COMPARE_OPS,
    INDEX,
    REDUCE_OPS,
    UNARY_OPS,
    Binary,
    Bitcast,
    Call,
    Const,
    Convert,
    Expr,
    Lane,
    Reduce,
    Select,
    Shuffle,
    Splat,
    Type,
    Unary,
)
from .types import DType

INDEX_BITS = 64
_BINARY_OPS = ARITHMETIC_OPS | COMPARE_OPS
_INDEX_ONLY = ("floordiv", "floormod")
_BITWISE = ("and", "or", "xor")
_INTEGER_ONLY = ("shl", "shr", "mod")


def complaint(expr: Expr, instructions: Mapping[str, Instruction]) -> str | None:
    """What is wrong with the types of ``expr`` itself, if anything is."""
    return _call(expr, instructions) if isinstance(expr, Call) else _RULES.get(type(expr), _nothing)(expr)


def bits(dtype: DType) -> int:
    return INDEX_BITS if dtype is DType.INDEX else dtype.size * 8


def _nothing(_expr: Any) -> str | None:
    return None


def _const(expr: Const) -> str | None:
    value, dtype = expr.value, expr.type.dtype
    if expr.type.lanes < 1:
        return f"L4: {expr.type} has no lanes"
    if dtype is DType.BOOL:
        fits = type(value) in (bool, int) and value in (0, 1)
    else:
        least, most = _extremes(dtype)
        fits = type(value) is type(most) and (least <= value <= most or not math.isfinite(value))
    if not fits:
        return f"L5: {value!r} ({type(value).__name__}) is not a literal of type {dtype.value}"
    return None


@cache
def _extremes(dtype: DType) -> tuple[float, float]:
    """The least and the greatest finite value, floats or integers as the type is."""
    if dtype.is_float:
        most = float(np.finfo(dtype.numpy).max)
        return -most, most
    info = np.iinfo(dtype.numpy)
    return int(info.min), int(info.max)


def _unary(expr: Unary) -> str | None:
    dtype = expr.x.type.dtype
    if expr.op not in UNARY_OPS:
        return f"L4: there is no unary operator {expr.op!r}"
    if dtype is DType.BOOL if expr.op != "not" else dtype.is_float:
        return f"L4: {expr.op} of {expr.x.type}"
    return None


def _binary(expr: Binary) -> str | None:
    x, y, op = expr.x.type, expr.y.type, expr.op
    if op not in _BINARY_OPS:
        return f"L4: there is no binary operator {op!r}"
    if x != y:
        return f"L4: {op} of {x} and {y}"
    if not _takes(op, x):
        return f"L4: {op} of {x}"
    if op in ("shl", "shr") and isinstance(expr.y, Const) and not 0 <= expr.y.value < bits(x.dtype):
        return f"L4: {op} of {x} by {expr.y.value}"
    return None


def _takes(op: str, type_: Type) -> bool:
    """Whether ``op`` is defined on operands of ``type_``."""
    if op in _INDEX_ONLY:
        return type_ == INDEX
    if type_.dtype is DType.BOOL:
        return op in (*_BITWISE, "eq", "ne")
    return type_.dtype.is_integer or op not in (*_BITWISE, *_INTEGER_ONLY)


def _select(expr: Select) -> str | None:
    if expr.cond.type != Type(DType.BOOL, expr.x.type.lanes):
        return f"L4: select of {expr.x.type} by {expr.cond.type}"
    if expr.x.type != expr.y.type:
        return f"L4: select of {expr.x.type} or {expr.y.type}"
    return None


def _convert(expr: Convert) -> str | None:
    if expr.type.lanes != expr.x.type.lanes:
        return f"L4: convert of {expr.x.type} to {expr.type}"
    return None


def _bitcast(expr: Bitcast) -> str | None:
    old, new = expr.x.type, expr.type
    without_bits = {DType.BOOL, DType.INDEX} & {old.dtype, new.dtype}
    if without_bits or bits(old.dtype) * old.lanes != bits(new.dtype) * new.lanes:
        return f"L4: bitcast of {old} to {new}"
    return None


def _splat(expr: Splat) -> str | None:
    if expr.x.type.lanes != 1 or expr.lanes < 1:
        return f"L4: splat of {expr.x.type} to {expr.lanes} lanes"
    return None


def _lane(expr: Lane) -> str | None:
    if not 0 <= expr.number < expr.x.type.lanes or expr.x.type.lanes == 1:
        return f"L4: lane {expr.number} of {expr.x.type}"
    return None


def _shuffle(expr: Shuffle) -> str | None:
    x, y = expr.x.type, expr.y.type
    if x != y or x.lanes == 1 or bits(x.dtype) > 32 or x.dtype is DType.BOOL:
        return f"L4: shuffle of {x} and {y}; it takes two vectors of numbers of 32 bits at most"
    if len(expr.picks) != x.lanes or not all(0 <= pick < 2 * x.lanes for pick in expr.picks):
        return f"L4: shuffle of {x} by {expr.picks}"
    return None


def _reduce(expr: Reduce) -> str | None:
    type_ = expr.x.type
    if expr.op not in REDUCE_OPS:
        return f"L4: there is no reduction {expr.op!r}"
    if type_.dtype is DType.BOOL or type_.lanes & (type_.lanes - 1):
        return f"L4: reduce_{expr.op} of {type_}; it takes a power of two lanes of numbers"
    return None


def _call(expr: Call, instructions: Mapping[str, Instruction]) -> str | None:
    row = instructions.get(expr.function)
    if row is None:
        return f"L6: there is no instruction {expr.function!r}"
    given = [arg.type for arg in expr.args]
    reason = _misfit(row, given, expr.type)
    return reason and f"L6: {expr.function}({', '.join(map(str, given))}) of type {expr.type}; {reason}"


def _misfit(row: Instruction, given: Sequence[Type], result: Type) -> str | None:
    """Why ``row`` does not take operands of the types ``given`` for a ``result``, if it does not."""
    if len(given) != len(row.operands):
        return f"it takes {len(row.operands)} operands"
    if any(type_.lanes != result.lanes for type_ in given):
        return "lanes differ"
    pairs = list(zip((*row.operands, row.result), (*given, result)))
    common = {type_.dtype for wanted, type_ in pairs if wanted is None}
    if len(common) > 1 or not all(dtype.is_float for dtype in common):
        return "it takes one common floating type"
    for wanted, type_ in pairs:
        if wanted is not None and wanted is not type_.dtype:
            return f"it takes {wanted.value}, not {type_.dtype.value}"
    return None


_RULES: dict[type[Expr], Callable[[Any], str | None]] = {
    Const: _const,
    Unary: _unary,
    Binary: _binary,
    Select: _select,
    Convert: _convert,
    Bitcast: _bitcast,
    Splat: _splat,
    Lane: _lane,
    Shuffle: _shuffle,
    Reduce: _reduce,
}
