"""Evaluates loop-IR expressions on whole NumPy arrays at once: fast enough for dense sweeps of the math functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ccml.instructions import INSTRUCTIONS
from ccml.ir.loops import Binary, Bitcast, Call, Const, Convert, Expr, Select, Type, Unary, Var
from ccml.ir.types import DType

_BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply,
    "min": lambda x, y: np.where(x < y, x, y), "max": lambda x, y: np.where(x > y, x, y),
    "floordiv": np.floor_divide, "floormod": np.mod,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
def _product_and_sum(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return x * y + z


def _fused(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """In a wider format: off by much less than an ULP where it is rounded twice."""
    dtype = np.result_type(x, y, z)
    wider = np.float64 if dtype == np.float32 else np.longdouble
    return _product_and_sum(*(np.asarray(part, wider) for part in (x, y, z))).astype(dtype)


_CALLS: dict[str, Callable[..., np.ndarray]] = {
    "multiply_add": _product_and_sum, "fma": _fused, "sqrt": np.sqrt, "floor": np.floor,
    "ceil": np.ceil, "trunc": np.trunc, "round_even": np.rint,
}  # fmt: skip


class Bindings:
    """The ``bind`` of an expansion under test: names every value and remembers it, in order."""

    def __init__(self) -> None:
        self.values: list[tuple[Var, Expr]] = []

    def bind(self, stem: str, value: Expr) -> Expr:
        if isinstance(value, (Var, Const)):
            return value
        var = Var(f"{stem}_{len(self.values)}", value.type)
        self.values.append((var, value))
        return var


def operands(*arrays: np.ndarray, lanes: int = 1) -> list[Expr]:
    """One variable an array."""
    return [Var(f"arg{i}", Type(DType.from_numpy(array.dtype), lanes)) for i, array in enumerate(arrays)]


def evaluate(expr: Expr, bindings: Bindings, *arrays: np.ndarray) -> np.ndarray:
    """``expr`` over the variables of :func:`operands`, element by element."""
    names = {f"arg{i}": array for i, array in enumerate(arrays)}
    with np.errstate(all="ignore"):
        for var, value in bindings.values:
            names[var.name] = _value(value, names)
        return _value(expr, names)


def _value(expr: Expr, names: dict[str, np.ndarray]) -> np.ndarray:
    match expr:
        case Const(value, type_):
            return type_.dtype.numpy.type(value)
        case Var(name):
            return names[name]
        case Unary(op, x):
            return _unary(op, _value(x, names))
        case Binary(op, x, y):
            lhs, rhs = _value(x, names), _value(y, names)
            if op in ("div", "mod"):
                return _divide(op, lhs, rhs)
            return _BINARY[op](lhs, rhs)
        case Select(cond, x, y):
            return np.where(_value(cond, names), _value(x, names), _value(y, names))
        case Convert(type_, x):
            return _convert(_value(x, names), type_.dtype)
        case Bitcast(type_, x):
            return np.asarray(_value(x, names)).view(type_.dtype.numpy)
        case Call(function, args):
            expand = INSTRUCTIONS[function].expansion
            if function not in _CALLS and expand is not None and (expanded := expand(expr)) is not None:
                return _value(expanded, names)
            return _CALLS[function](*(_value(arg, names) for arg in args))
    raise AssertionError(f"{type(expr).__name__} is not expected in a scalar expression")


def _unary(op: str, x: np.ndarray) -> np.ndarray:
    if op == "not":
        return np.logical_not(x) if x.dtype == bool else np.bitwise_not(x)
    return np.negative(x) if op == "neg" else np.abs(x)


def _divide(op: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Integers truncate; the undefined cases are errors of the expression."""
    if np.result_type(x, y).kind == "f":
        return np.divide(x, y)
    x, y = np.broadcast_arrays(x, y)
    assert np.all(y != 0), "integer division by zero"
    if x.dtype.kind == "i":
        assert not np.any((x == np.iinfo(x.dtype).min) & (y == -1)), "integer division overflows"
    remainder = np.fmod(x, y)
    return remainder if op == "mod" else np.floor_divide(x - remainder, y)


def _convert(x: np.ndarray, dtype: DType) -> np.ndarray:
    if x.dtype.kind == "f" and dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        whole = np.trunc(x.astype(np.float64))
        inside = (whole >= float(limits.min)) & (whole < float(limits.max) + 1.0)
        assert np.all(inside), f"conversion to {dtype.value} out of range"
    return x.astype(dtype.numpy)
