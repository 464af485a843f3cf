"""Layer and RMS normalization in integers: within one step of the float definition, and nearly always equal to it."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.ir.graph import Graph, Value
from ccml.ir.types import DType
from ccml.ops.int_normalize import START, STEPS
from ccml.passes.integerize import integerize, integerize_with_report

from tests.integerize.building import Qdq, check, operators, outputs, random_bytes

OPERATORS = pytest.mark.parametrize("op", ["normalize", "rms_normalize"])


def differences(graph: Graph, result: Graph, feeds: dict[str, np.ndarray]) -> np.ndarray:
    (wanted,), (got,) = outputs(graph, feeds), outputs(result, feeds)
    return np.abs(wanted.astype(int) - got.astype(int))


def assert_within_one_step(graph: Graph, expected: list[str], largest_part: float = 0.01) -> None:
    """Of rows of all kinds: random bytes, small differences, a single outlier, a single step, all elements equal."""
    result = integerize(graph)
    assert operators(result) == expected
    feeds = [random_bytes(graph, seed) for seed in range(3)]
    (name,) = feeds[0]
    shape, dtype = feeds[0][name].shape, feeds[0][name].dtype
    rng = np.random.default_rng(1)
    outlier = np.full(shape, 5, dtype)
    outlier[..., 0] = np.iinfo(dtype).max
    equal, step = np.full(shape, 7, dtype), np.full(shape, 5, dtype)
    step[..., -1] = 6
    feeds += [{name: array} for array in (step, rng.integers(3, 6, shape).astype(dtype), outlier, equal)]
    found = np.concatenate([differences(graph, result, feed).ravel() for feed in feeds])
    assert found.max() <= 1
    assert np.count_nonzero(found) <= max(1, largest_part * found.size)


@OPERATORS
@pytest.mark.parametrize("count", [1, 2, 3, 64, 1000])
@pytest.mark.parametrize("scale", [0.0001, 0.02, 3.0])
@pytest.mark.parametrize("epsilon", [1e-12, 1e-5, 0.1])
def test_within_one_step(op: str, count: int, scale: float, epsilon: float) -> None:
    for dtype, zero_point, step in ((DType.I8, -5, 0.03), (DType.U8, 120, 1 / 16), (DType.I8, 0, 0.2)):
        q = Qdq()
        y = q.op(op, q.input((4, count), scale, 5, dtype), axes=(1,), epsilon=epsilon)
        assert_within_one_step(q.graph(q.quantize(y, step, zero_point, dtype)), ["int_normalize"])


@OPERATORS
@pytest.mark.parametrize("count", [100, 128])
def test_16_bits(op: str, count: int) -> None:
    q = Qdq()
    y = q.op(op, q.input((4, count), 0.0007, 0, DType.I16), axes=(1,), epsilon=1e-5)
    assert_within_one_step(q.graph(q.quantize(y, 0.001, 0, DType.I16)), ["int_normalize"], 0.02)


@OPERATORS
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 96, 1000])
@pytest.mark.parametrize("scale", [0.01, 0.05, 7.0])
def test_scale_and_shift_of_each_element(op: str, count: int, scale: float) -> None:
    rng = np.random.default_rng(3)
    q = Qdq()
    y = q.op(op, q.input((8, count), scale), axes=(1,), epsilon=1e-5)
    y = q.op("add", q.op("mul", y, q.constant(rng.normal(1, 0.5, count))), q.constant(rng.normal(0, 1, count)))
    graph = q.graph(q.quantize(y, 0.04, 3))
    assert_within_one_step(graph, ["int_normalize", "rescale_channels"], 0.001)
    check(graph, same=False)


def test_one_scale_needs_no_second_step() -> None:
    q = Qdq()
    y = q.op("normalize", q.input((8, 96), 0.05), axes=(1,), epsilon=1e-5)
    graph = q.graph(q.quantize(q.op("mul", y, q.constant(2.0)), 0.06, 3))
    assert_within_one_step(graph, ["int_normalize"])


@OPERATORS
@pytest.mark.parametrize("axes", [(1,), (2,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("dtype", [DType.I8, DType.U8, DType.I16])
def test_compiled(op: str, axes: tuple[int, ...], dtype: DType) -> None:
    q = Qdq()
    y = q.op(op, q.input((3, 20, 33), 0.05, 5 if dtype is not DType.I16 else 0, dtype), axes=axes, epsilon=1e-5)
    check(q.graph(q.quantize(y, 0.03, 2, DType.U8)), ["int_normalize"], same=False)


def test_what_is_not_quantized_stays_in_float() -> None:
    q = Qdq()

    def kept(y: Value) -> list[str]:
        return [each.reason for each in integerize_with_report(q.graph(y))[1]]

    x = q.input((2, 4))
    assert kept(q.op("normalize", x, axes=(1,), epsilon=1e-5)) == ["its result is not quantized"]
    w = q.weights(np.ones((4, 3), np.int8), [0.1])
    y = q.quantize(q.op("rms_normalize", q.op("matmul", x, w), axes=(1,), epsilon=1e-5))
    assert kept(y) == ["its operand is not quantized, to one scale and 8 or 16 bits"]


def test_a_scale_that_16_bits_cannot_carry_stays_in_float() -> None:
    q = Qdq()
    y = q.op("mul", q.op("normalize", q.input((2, 400)), axes=(1,), epsilon=1e-5), q.constant(np.linspace(1, 2, 400)))
    graph = q.graph(q.quantize(y, 0.0001, 0, DType.I16))
    (kept,) = (each for each in integerize_with_report(graph)[1] if each.op == "normalize")
    assert "would not be accurate" in kept.reason


def test_roots_and_their_squares_fit_32_bits() -> None:
    """As the loops have them: for numbers from 1/4 on, whose roots are the greatest, every one, and some up to 1."""
    u = np.uint64
    a = np.concatenate([np.arange(1 << 30, (1 << 30) + (1 << 20)), np.arange(1 << 30, 1 << 32, 4099)]).astype(np.uint64)
    y = u(START[0]) - (a * u(START[1]) >> u(32))
    for _ in range(STEPS):
        assert y.max() < 1 << 31
        square = y * y >> u(30)
        assert square.max() < 1 << 32
        y = y * (u(3 << 30) - (square * a >> u(32))) >> u(31)
    assert y.max() < 1 << 31
