"""Views made as plain as they can be: what passes call instead of emitting ``transpose`` and ``reshape`` nodes.

``perm`` is as in NumPy: dimension ``i`` of the result is dimension ``perm[i]`` of the operand.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.graph import Node, Value
from ..ops.attributes import floats, integer, ints
from ..ops.table import infer_types
from .rewrite import Rewriter

Perm = tuple[int, ...]
Shape = tuple[int, ...]


def identity(rank: int) -> Perm:
    return tuple(range(rank))


def inverse(perm: Perm) -> Perm:
    return tuple(perm.index(axis) for axis in range(len(perm)))


def compose(first: Perm, then: Perm) -> Perm:
    """One permutation for transposing by ``first`` and ``then`` by the other."""
    return tuple(first[axis] for axis in then)


def permuted(items: Sequence[int], perm: Perm) -> tuple[int, ...]:
    return tuple(items[axis] for axis in perm)


def is_reshape(shape: Shape, perm: Perm) -> bool:
    """Whether the transpose only moves dimensions of extent 1: the elements stay where they are."""
    moved = [axis for axis in perm if shape[axis] != 1]
    return moved == sorted(moved)


def without_units(shape: Shape) -> Shape:
    return tuple(extent for extent in shape if extent != 1)


def groups(before: tuple[int, ...], after: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """Splits a reshape into independent ones: the smallest runs of dimensions with equal products (no extent is 0).

    >>> groups((2, 3, 4), (6, 2, 2))
    [([0, 1], [0]), ([2], [1, 2])]
    """
    result: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(before) or j < len(after):
        old, new, left, right = [], [], 1, 1
        while True:
            if left <= right and i < len(before):
                old.append(i)
                left *= before[i]
                i += 1
            elif j < len(after):
                new.append(j)
                right *= after[j]
                j += 1
            else:
                break
            if left == right and (left != 1 or (old and new)):
                break
        result.append((old, new))
    return result


def transpose(rewriter: Rewriter, x: Value, perm: Perm, *, loc: str = "", name: str | None = None) -> Value:
    """``x`` transposed: folded for constants, merged with the transpose before, a reshape where nothing moves."""
    if perm == identity(len(perm)):
        return x
    name = name or x.name
    array, producer = rewriter.array(x), rewriter.producer(x)
    if array is not None:
        (type_,) = infer_types("transpose", [x], {"perm": perm})
        return rewriter.constant(np.transpose(array, perm), name, type_)
    source = None if producer is None else producer.inputs[0]
    if producer is not None and source is not None:
        if producer.op == "transpose":
            return transpose(rewriter, source, compose(ints(producer.attrs, "perm"), perm), loc=loc, name=name)
        if producer.op in ("dequantize", "quantize") and rewriter.is_constant(source):
            attrs = {**producer.attrs, "axis": _moved_axis(producer, perm)}
            moved = transpose(rewriter, source, perm, loc=loc)
            return rewriter.emit(producer.op, [moved], attrs, loc=loc, names=[name])[0]
    if is_reshape(x.shape, perm) and not quantized_along_axis(x):
        return reshape(rewriter, x, permuted(x.shape, perm), loc=loc, name=name)
    return rewriter.emit("transpose", [x], {"perm": perm}, loc=loc, names=[name])[0]


def _moved_axis(node: Node, perm: Perm) -> int:
    """Where the quantization axis goes; a per-tensor axis means nothing and stays."""
    axis, scale = integer(node.attrs, "axis"), floats(node.attrs, "scale")
    return perm.index(axis) if len(scale) > 1 else axis


def reshape(rewriter: Rewriter, x: Value, shape: Shape, *, loc: str = "", name: str | None = None) -> Value:
    """``x`` reshaped: folded for constants, merged with the reshape before."""
    (type_,) = infer_types("reshape", [x], {"shape": shape})
    if x.type == type_:
        return x
    name = name or x.name
    array, producer = rewriter.array(x), rewriter.producer(x)
    if array is not None:
        return rewriter.constant(array.reshape(shape), name, type_)
    if producer is not None and producer.op == "reshape":
        source = producer.inputs[0]
        assert source is not None
        return reshape(rewriter, source, shape, loc=loc, name=name)
    return rewriter.emit("reshape", [x], {"shape": shape}, loc=loc, names=[name])[0]


def with_rank(rewriter: Rewriter, x: Value, rank: int) -> Value:
    """``x`` with leading unit dimensions, as broadcasting adds them."""
    return x if len(x.shape) == rank else reshape(rewriter, x, (1,) * (rank - len(x.shape)) + x.shape)


def quantized_along_axis(x: Value) -> bool:
    """A transpose renames the axis; a reshape would forget the quantization."""
    return x.type.quant is not None and x.type.quant.axis is not None
