"""Index maps against the meaning in the operator table, every position at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.ir.graph import Node, Value
from ccml.ir.loops import INDEX, Binary, Const, Var
from ccml.ir.loops_rewrite import walk_expr
from ccml.ir.types import DType, TensorType
from ccml.ops.table import OPS
from ccml.ops.views import INDEX_MAPS, in_range

from tests.ops.expr_harness import Bindings, evaluate


def make_node(op: str, arrays: tuple[np.ndarray, ...], attrs: dict[str, Any]) -> Node:
    inputs = tuple(Value(f"x{i}", TensorType(DType.from_numpy(a.dtype), a.shape)) for i, a in enumerate(arrays))
    (type_,) = OPS[op].infer([value.type for value in inputs], attrs)
    return Node(op, inputs, (Value("y", type_),), attrs)


def check(op: str, *shapes: tuple[int, ...], **attrs: Any) -> None:
    arrays = tuple(1 + 1000 * k + np.arange(np.prod(shape)).reshape(shape) for k, shape in enumerate(shapes))
    (expected,) = OPS[op].evaluate(arrays, attrs)
    node = make_node(op, arrays, attrs)
    index = [Var(f"arg{d}") for d in range(expected.ndim)]
    positions = np.indices(expected.shape)
    found, covered = np.zeros(expected.shape, np.int64), np.zeros(expected.shape, int)
    for source in INDEX_MAPS[op](node, index):
        valid = True if source.valid is None else evaluate(source.valid, Bindings(), *positions)
        valid = np.broadcast_to(valid, expected.shape)
        array = arrays[source.operand]
        raw = np.array([np.broadcast_to(evaluate(i, Bindings(), *positions), expected.shape) for i in source.index])
        for d, extent in enumerate(array.shape):
            assert np.all((raw[d] >= 0) & (raw[d] < extent) | ~valid)
        safe = in_range(source, node.operands[source.operand])
        at = tuple(np.broadcast_to(evaluate(i, Bindings(), *positions), expected.shape) for i in safe.index)
        if isinstance(source.fill, Const):
            found, covered = np.where(valid, 0, source.fill.value), covered + ~valid
        found, covered = found + np.where(valid, array[at], 0), covered + valid
    assert np.all(covered == 1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        ((2, 3, 4), (6, 4)),
        ((6, 4), (2, 3, 4)),
        ((2, 3, 4), (4, 3, 2)),
        ((2, 3, 4), (24,)),
        ((24,), (2, 3, 4)),
        ((2, 1, 3), (2, 3)),
        ((2, 3), (1, 2, 1, 3, 1)),
        ((1,), ()),
        ((), (1, 1)),
        ((2, 6, 5), (4, 3, 5)),
        ((3, 4, 5, 2), (12, 10)),
    ],
)
def test_reshape(source: tuple[int, ...], shape: tuple[int, ...]) -> None:
    check("reshape", source, shape=shape)


@pytest.mark.parametrize(("source", "shape"), [((2, 1, 3, 4), (2, 3, 1, 4)), ((2, 3, 4), (6, 4)), ((5,), (1, 5, 1))])
def test_reshape_that_merges_or_moves_units_does_not_divide(source: tuple[int, ...], shape: tuple[int, ...]) -> None:
    node = make_node("reshape", (np.zeros(shape),), {"shape": source})
    node = make_node("reshape", (np.zeros(source),), {"shape": shape}) if len(shape) > len(source) else node
    index = [Var(f"i{d}", INDEX) for d in range(node.output.type.rank)]
    (source_of,) = INDEX_MAPS["reshape"](node, index)
    used = {expr.op for part in source_of.index for expr in walk_expr(part) if isinstance(expr, Binary)}
    assert not used & {"floordiv", "floormod"}


@pytest.mark.parametrize("perm", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_transpose(perm: tuple[int, ...]) -> None:
    check("transpose", (2, 3, 4), perm=perm)


def test_expand() -> None:
    check("expand", (3, 1), shape=(2, 3, 4))
    check("expand", (), shape=(2, 2))


def test_slice() -> None:
    check("slice", (5, 6), starts=(1, 5), steps=(2, -2), sizes=(2, 3))


def test_concat() -> None:
    check("concat", (2, 3), (2, 1), (2, 0), (2, 4), axis=1)
    check("concat", (2, 3), axis=0)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad(mode: str) -> None:
    for before, after in [((0, 2), (1, 3)), ((2, 0), (0, 0)), ((0, 0), (0, 0))]:
        check("pad", (3, 5), before=before, after=after, mode=mode, value=7.0)
