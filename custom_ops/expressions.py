"""Expressions over shapes and attributes, as signatures of custom operators have them: ``x.shape[0] * scale``.

The syntax is a part of Python's. It is parsed by ``ast`` and evaluated here, node by node: integers, lists and texts,
``+ - * // %``, comparisons, ``a if condition else b``, indices and slices, ``min``, ``max``, ``len`` and ``ceildiv``.
Nothing else can be said, and numbers and lists are bounded.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Union

Number = Union[int, float, str, list[int]]
"""Floats and texts can be compared, and are no results."""

MAX_LENGTH = 300
"""Characters of an expression."""
_MAX_NUMBER = 1 << 62
_MAX_ITEMS = 1024

_BINARY: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
_COMPARE: Mapping[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,  # type: ignore[dict-item]
    ast.Gt: operator.gt, ast.GtE: operator.ge,  # type: ignore[dict-item]
}  # fmt: skip


def evaluate(text: str, names: Mapping[str, Number | None]) -> Number:
    """The value of an expression. ``names`` are what it may name, as ``alpha`` or ``x.shape``; ``None`` stands for what
    is not there. Raises :class:`ValueError` that says what is wrong."""
    if len(text) > MAX_LENGTH:
        raise ValueError(f"it has more than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _Evaluator(names).value(tree.body)
    except (SyntaxError, RecursionError, MemoryError) as problem:
        raise ValueError(f"it is no expression ({getattr(problem, 'msg', None) or 'too deep'})") from problem
    except ZeroDivisionError:
        raise ValueError("it divides by zero") from None
    except (IndexError, TypeError) as problem:
        raise ValueError(str(problem)) from problem


class _Evaluator:
    def __init__(self, names: Mapping[str, Number | None]) -> None:
        self._names = names

    def value(self, node: ast.expr) -> Number:
        found = self._value(node)
        if isinstance(found, int) and not -_MAX_NUMBER < found < _MAX_NUMBER:
            raise ValueError("a number is too large")
        if isinstance(found, list) and len(found) > _MAX_ITEMS:
            raise ValueError("a list is too long")
        return found

    def _value(self, node: ast.expr) -> Number:
        match node:
            case ast.Constant(value=int() | float() | str() as constant):
                return constant
            case ast.Name() | ast.Attribute():
                return self._named(node)
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                x, y = self.value(left), self.value(right)
                if isinstance(x, list) and isinstance(y, list) and isinstance(op, ast.Add):
                    return x + y
                return _BINARY[type(op)](self._integer(x), self._integer(y))
            case ast.UnaryOp(ast.USub(), operand):
                return -self._integer(self.value(operand))
            case ast.Compare(left, [op], [right]) if type(op) in _COMPARE:
                return int(_COMPARE[type(op)](self.value(left), self.value(right)))
            case ast.IfExp(test, body, orelse):
                return self.value(body if self.value(test) else orelse)
            case ast.List(items):
                return [self._integer(self.value(item)) for item in items]
            case ast.Subscript(whole, part):
                return self._part(self.value(whole), part)
            case ast.Call(ast.Name(name), args, []):
                return self._call(name, [self.value(arg) for arg in args])
        raise ValueError(f"'{ast.unparse(node)}' cannot be used")

    def _named(self, node: ast.Name | ast.Attribute) -> Number:
        name = ast.unparse(node)
        if name not in self._names:
            raise ValueError(f"'{name}' is not known; known are {', '.join(sorted(self._names))}")
        found = self._names[name]
        if found is None:
            raise ValueError(f"'{name}' is not there")
        return found

    def _part(self, whole: Number, part: ast.expr) -> Number:
        if not isinstance(whole, list):
            raise ValueError(f"{whole!r} has no parts")
        if isinstance(part, ast.Slice):
            bounds = (None if bound is None else self._integer(self.value(bound)) for bound in (part.lower, part.upper))
            if part.step is not None:
                raise ValueError("a slice with a step")
            return whole[slice(*bounds)]
        place = self._integer(self.value(part))
        if not -len(whole) <= place < len(whole):
            raise ValueError(f"{whole} has no element {place}")
        return whole[place]

    def _call(self, name: str, args: list[Number]) -> int:
        if name not in ("min", "max", "len", "ceildiv"):
            raise ValueError(f"there is no function '{name}'")
        if name == "len" and len(args) == 1 and isinstance(args[0], list):
            return len(args[0])
        numbers = args[0] if len(args) == 1 and isinstance(args[0], list) else [self._integer(arg) for arg in args]
        if name in ("min", "max") and numbers:
            return (min if name == "min" else max)(numbers)
        if name == "ceildiv" and len(numbers) == 2:
            return -(-numbers[0] // numbers[1])
        raise ValueError(f"{name} does not take {args}")

    @staticmethod
    def _integer(value: Number) -> int:
        if not isinstance(value, int):
            raise ValueError(f"{value!r} is no integer")
        return value
