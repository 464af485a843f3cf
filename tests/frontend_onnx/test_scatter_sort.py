"""Scatters, TopK, ReverseSequence, MaxUnpool, BitCast and CumProd: compiled, against onnx.reference and others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model

from tests.frontend_onnx.compiled import check_compiled, check_node, compiled, onnxruntime, reference
from tests.frontend_onnx.graphs import one_node


def data(dtype: type[Any], *shape: int, seed: int = 0) -> np.ndarray:
    """Small whole numbers, so that sums and products are exact in every type."""
    rng = np.random.default_rng([seed, *shape])
    if dtype is np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(0 if np.dtype(dtype).kind == "u" else -4, 5, shape).astype(dtype)


TYPES = [np.float32, np.float16, np.int8, np.int64]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_scatter_elements(dtype: type[Any], reduction: str) -> None:
    x = data(dtype, 3, 4, 2)
    for axis, index in ((1, np.int32), (-1, np.int64)):
        shape = (2, 3, 2)
        order = np.argsort(np.random.default_rng(axis + 1).random(shape), axis=axis)
        indices = (order if reduction == "none" else order // 2 - 1).astype(index)
        check_node("ScatterElements", [x, indices, data(dtype, *shape, seed=1)], 18, axis=axis, reduction=reduction)


@pytest.mark.parametrize("opset", [9, 11, 13, 16])
def test_older_scatters(opset: int) -> None:
    """ONNX Runtime knows Scatter of opset 9, the reference does not."""
    x, indices, updates = data(np.float32, 3, 3), np.array([[2, -1, 0]]), data(np.float32, 1, 3, seed=1)
    op = "Scatter" if opset < 11 else "ScatterElements"
    check_compiled(*one_node(op, [x, indices, updates], opset, axis=0), onnxruntime)
    check_compiled(*one_node(op, [x, indices, updates], opset, [1], axis=1), onnxruntime)


def test_scatter_of_bool() -> None:
    """A sum of bools is whether one holds, a product whether all do."""
    x, indices = np.array([True, False, True, False]), np.array([0, 1, 2, 3, 0])
    updates = np.array([False, True, True, False, True])
    for reduction, expected in (("none", updates[[4, 1, 2, 3]]), ("max", [True, True, True, False])):
        proto, feeds = one_node("ScatterElements", [x, indices, updates], 18, reduction=reduction)
        np.testing.assert_array_equal(compiled(proto, feeds)[0], expected)
    check_node("ScatterElements", [np.array([[True, False]]), np.array([[1]]), np.array([[True]])], 18, axis=1)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
@pytest.mark.parametrize("shape", [(2, 3, 1), (3, 3), (1,)])
def test_scatter_nd(shape: tuple[int, ...], reduction: str) -> None:
    x = data(np.float32, 4, 3, 2)
    depth, rng = shape[-1], np.random.default_rng(3)
    indices = np.stack([rng.permutation(12).reshape(-1)[: int(np.prod(shape[:-1]))] % e for e in x.shape[:depth]], -1)
    indices = indices.reshape(shape) - (rng.random(shape) < 0.3) * np.array(x.shape[:depth])
    updates = data(np.float32, *shape[:-1], *x.shape[depth:], seed=2)
    check_node("ScatterND", [x, indices, updates], 18, reduction=reduction)
    check_node("ScatterND", [x, indices, updates], 18, [1], reduction=reduction)


def test_updates_outside_are_left_out() -> None:
    """What ONNX forbids writes nothing, neither outside of the tensor nor to another row."""
    x, updates = data(np.float32, 2, 3), data(np.float32, 1, 4, seed=1)[:, :3]
    indices = np.array([[5, -3, 1 << 33]])
    proto, feeds = one_node("ScatterElements", [x, indices, updates], 18, axis=0)
    np.testing.assert_array_equal(compiled(proto, feeds)[0], x)
    proto, feeds = one_node("ScatterND", [x, np.array([[0, 3], [1, -4], [-1, 0]]), updates[0]], 18)
    np.testing.assert_array_equal(compiled(proto, feeds)[0], np.where([[0, 0, 0], [1, 0, 0]], updates[0, 2], x))
    frozen, _ = one_node("ScatterElements", [x, indices, updates], 18, [1], axis=0)
    with pytest.raises(CcmlError, match="reach outside") as problem:
        import_model(frozen)
    assert problem.value.kind is ErrorCode.INVALID_MODEL


def test_scatter_of_nothing() -> None:
    x = data(np.float32, 2, 3)
    none = np.zeros((0, 3), np.int64)
    check_compiled(*one_node("ScatterElements", [x, none, none.astype(np.float32)], 18))
    check_compiled(*one_node("ScatterND", [x, np.zeros((0, 2), np.int64), np.zeros(0, np.float32)], 18))


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
def test_tensor_scatter(mode: str, dtype: type[Any]) -> None:
    starts = np.array([1, 0, 3]) if mode == "linear" else np.array([4, 3, 7])
    for shape, axis in (((3, 2, 5, 4), -2), ((3, 5, 4), 1), ((3, 2, 5), -1)):
        width = 2 if axis != -1 else 1
        update = list(shape)
        update[axis] = width
        check_node(
            "TensorScatter", [data(dtype, *shape), data(dtype, *update, seed=1), starts], 24, mode=mode, axis=axis
        )
        check_node("TensorScatter", [data(dtype, *shape), data(dtype, *update, seed=1)], 24, mode=mode, axis=axis)


def test_tensor_scatter_past_the_end_is_left_out() -> None:
    cache, update = data(np.float32, 2, 4, 3), data(np.float32, 2, 2, 3, seed=1)
    proto, feeds = one_node("TensorScatter", [cache, update, np.array([3, -1])], 24)
    expected = cache.copy()
    expected[0, 3], expected[1, 0] = update[0, 0], update[1, 1]
    np.testing.assert_array_equal(compiled(proto, feeds)[0], expected)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", [*TYPES, np.uint64])
def test_top_k(dtype: type[Any], largest: int) -> None:
    for shape, axis, k in (((3, 7, 2), 1, 7), ((2, 50), -1, 5), ((4,), 0, 1)):
        arrays = [data(dtype, *shape), np.array([k])]
        check_node("TopK", arrays, 24, [1], outputs=2, axis=axis, largest=largest)


def test_top_k_of_older_operator_sets() -> None:
    x = data(np.float32, 3, 9)
    values, indices = reference(*one_node("TopK", [x, np.array([4])], 24, outputs=2))
    for proto, feeds in (
        one_node("TopK", [x], 1, outputs=2, k=4),
        one_node("TopK", [x, np.array([4])], 10, [1], outputs=2),
    ):
        results = compiled(proto, feeds)
        np.testing.assert_array_equal(results[0], values)
        np.testing.assert_array_equal(results[1], indices)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.float64])
def test_reverse_sequence(dtype: type[Any]) -> None:
    for shape, time, lengths in (((4, 3), 0, [1, 4, 2]), ((3, 5, 2, 2), 1, [5, 3, 1])):
        attrs = {"time_axis": time, "batch_axis": 1 - time}
        check_node("ReverseSequence", [data(dtype, *shape), np.array(lengths)], 10, **attrs)
        check_node("ReverseSequence", [data(dtype, *shape), np.array(lengths)], 10, [1], **attrs)


def test_max_unpool() -> None:
    """Of a pooling's indices; with an output shape, the rest is zeros."""
    x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    places = np.array([[[[5, 7], [13, 15]]]])
    attrs = {"kernel_shape": [2, 2], "strides": [2, 2]}
    check_node("MaxUnpool", [x, places], 22, **attrs)
    check_compiled(*one_node("MaxUnpool", [x, places, np.array([1, 1, 5, 5])], 22, [2], **attrs))
    check_compiled(
        *one_node("MaxUnpool", [data(np.float16, 2, 3, 4), np.arange(24).reshape(2, 3, 4)], 11, kernel_shape=[1])
    )


@pytest.mark.parametrize(("source", "targets"), [
    (np.float32, (6, 12)), (np.int32, (1, 12)), (np.uint32, (1, 6)), (np.float64, (7, 13)), (np.int64, (11, 13)),
    (np.float16, (5, 4)), (np.int16, (10, 4)), (np.int8, (2,)), (np.uint8, (3,)), (np.bool_, (3, 2)),
])  # fmt: skip
def test_bit_cast(source: type[Any], targets: tuple[int, ...]) -> None:
    for to in targets:
        proto, feeds = one_node("BitCast", [data(source, 3, 5)], 26, to=to)
        check_compiled(proto, feeds, rtol=0, atol=0)


def test_bit_cast_needs_the_same_size() -> None:
    with pytest.raises(CcmlError, match="elements of 32 bits"):
        import_model(one_node("BitCast", [data(np.float32, 3)], 26, to=7)[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint64])
def test_cumulative_product(dtype: type[Any]) -> None:
    for axis, exclusive, reverse in ((0, 0, 0), (0, 1, 1), (-1, 0, 1), (1, 1, 0)):
        arrays = [data(dtype, 3, 4) + dtype(1), np.array(axis)]
        check_node("CumProd", arrays, 26, [1], exclusive=exclusive, reverse=reverse)


@pytest.mark.parametrize("op", ["GatherElements", "ScatterElements"])
def test_places_of_elements_take_no_large_constants(op: str) -> None:
    """One number for each index along a dimension, not for each element."""
    x, indices = np.zeros((1, 8, 40, 50), np.float32), np.zeros((1, 3, 40, 50), np.int64)
    more = [np.zeros(indices.shape, np.float32)] if op == "ScatterElements" else []
    graph = import_model(one_node(op, [x, indices, *more], 18, axis=1)[0])
    assert sum(array.nbytes for array in graph.constants.values()) < 1000
