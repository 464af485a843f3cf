"""Floats that are computed of extents: what is followed is exact."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.frontend_onnx.counts import Counts
from ccml.frontend_onnx.float_numbers import Ratio, combined, floors, ratios_of
from ccml.frontend_onnx.folding import FoldingBuilder
from ccml.frontend_onnx.polynomials import Polynomial
from ccml.ir.graph import Value
from ccml.ir.types import DType, TensorType


def constant(number: int) -> Polynomial:
    return Polynomial.constant(number)


@pytest.fixture(name="counts")
def _counts() -> Counts:
    return FoldingBuilder().counts


def atom(counts: Counts, most: int, least: int = 1) -> Polynomial:
    return counts.atom(Value("n", TensorType(DType.I64, ())), most, least)


@pytest.mark.parametrize(
    ("op", "a", "b", "wanted"),
    [
        ("add", 1.5, 0.25, Ratio(constant(7), 4)), ("sub", 1.5, 0.5, Ratio(constant(1))),
        ("mul", 1.5, 4, Ratio(constant(6))), ("div", 3, 4, Ratio(constant(3), 4)), ("div", 6, 1.5, Ratio(constant(4))),
        ("div", 1, 3, None), ("div", 1, 0, None),
    ],
)  # fmt: skip
def test_constants(counts: Counts, op: str, a: float, b: float, wanted: Ratio | None) -> None:
    known = [ratios_of(np.array(each, np.float32)) or () for each in (a, b)]
    found = combined(counts, op, known, DType.F32, "test")
    assert found == (None if wanted is None else (wanted,))


def test_quotients_of_extents(counts: Counts) -> None:
    n = atom(counts, 7)
    eight, four, odd = (Ratio(n * constant(number)) for number in (8, 4, 3))
    assert combined(counts, "div", [(eight,), (four,)], DType.F32, "test") == (Ratio(constant(2)),)
    assert combined(counts, "div", [(four,), (eight,)], DType.F32, "test") == (Ratio(constant(1), 2),)
    assert combined(counts, "div", [(four,), (odd,)], DType.F32, "test") is None


def test_what_a_float_has_no_bits_for_is_not_followed(counts: Counts) -> None:
    n = (Ratio(atom(counts, 2**24 + 1)),)
    assert combined(counts, "cast", [n], DType.F32, "test") is None
    assert combined(counts, "cast", [n], DType.F64, "test") == n
    assert ratios_of(np.array([0.1], np.float32)) is None
    assert ratios_of(np.array([np.inf], np.float32)) is None


def test_floors(counts: Counts) -> None:
    n = atom(counts, 9)
    half = counts.quotient(n * constant(3), 2, "test")
    assert floors(counts, (Ratio(n * constant(3), 2), Ratio(n)), "test") == (half, n)
    assert floors(counts, None, "test") is None
    assert floors(counts, (Ratio(n - constant(5), 2),), "test") is None  # a cast rounds towards 0
