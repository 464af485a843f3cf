"""Integers computed at run time as sums: a constant, and multiples of numbers that are not looked into.

What is known of two such sums is their difference where the same numbers stand in both. It tells how long a slice from
``p`` to ``p + 1`` is, whatever ``p``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..ir.graph import Node, Value
from ..ir.types import DType
from ..ops.table import OPS
from ..record import record
from .folding import FoldingBuilder

MAX_ELEMENTS = 64
"""Of tensors that are looked into."""

MAX_DEPTH = 64
"""Operators that are looked through."""

_INTEGERS = (DType.I32, DType.I64)


@record
class Linear:
    """``constant`` + the sum of the terms; a term is an element of a value, by name and number, and its factor."""

    constant: int
    terms: Mapping[tuple[str, int], int]

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        terms = dict(self.terms)
        for term, count in other.terms.items():
            terms[term] = terms.get(term, 0) + factor * count
        return Linear(self.constant + factor * other.constant, {term: count for term, count in terms.items() if count})


def linear(builder: FoldingBuilder, value: Value, depth: int = MAX_DEPTH) -> list[Linear]:
    """The elements of a tensor of integers, in a row, which has at most ``MAX_ELEMENTS``."""
    array = builder.constants.get(value.name)
    if array is not None:
        return [Linear(int(element), {}) for element in array.reshape(-1)]
    node = builder.producers.get(value.name)
    found = None
    if node is not None and depth and all(v.type.size <= MAX_ELEMENTS for v in node.operands):
        found = _of_node(builder, node, value, depth - 1)
    return found or [Linear(0, {(value.name, number): 1}) for number in range(value.type.size)]


def _of_node(builder: FoldingBuilder, node: Node, value: Value, depth: int) -> list[Linear] | None:
    """The elements of a node's result; ``None`` where the operator says nothing of them."""
    if any(operand.dtype not in _INTEGERS for operand in node.operands):
        return None
    operands = [linear(builder, operand, depth) for operand in node.operands]
    if node.op in ("reshape", "cast"):
        return operands[0]
    if node.op in ("add", "sub"):
        lhs, rhs = (_spread(own, v, value) for own, v in zip(operands, node.operands))
        return [a.plus(b, 1 if node.op == "add" else -1) for a, b in zip(lhs, rhs)]
    if node.op in ("slice", "concat", "expand", "transpose"):
        return _moved(node, operands)
    return None


def _spread(elements: Sequence[Linear], value: Value, result: Value) -> list[Linear]:
    """Broadcast to a result's shape."""
    numbers = np.broadcast_to(np.arange(value.type.size).reshape(value.shape), result.shape)
    return [elements[int(number)] for number in numbers.reshape(-1)]


def _moved(node: Node, operands: Sequence[Sequence[Linear]]) -> list[Linear]:
    """The elements of an operator that moves them: it is applied to their numbers."""
    flat = [element for elements in operands for element in elements]
    arrays, start = [], 0
    for value in node.operands:
        arrays.append(np.arange(start, start + value.type.size, dtype=value.dtype.numpy).reshape(value.shape))
        start += value.type.size
    (numbers,) = OPS[node.op].evaluate(arrays, node.attrs)
    return [flat[int(number)] for number in numbers.reshape(-1)]


def differences(builder: FoldingBuilder, a: Value, b: Value) -> list[int | None]:
    """a - b of each element, where it is the same in every run."""
    if max(a.type.size, b.type.size) > MAX_ELEMENTS or a.type.size != b.type.size:
        return [None] * a.type.size
    pairs = zip(linear(builder, a), linear(builder, b))
    found = [own.plus(other, -1) for own, other in pairs]
    return [None if each.terms else each.constant for each in found]
