"""Fractions from their float32, and the ensembles whose leaves they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from ccml.frontend_onnx.fractions_of_floats import common_denominator, simplest_fraction

from tests.frontend_onnx.graphs import checked_import
from tests.frontend_onnx.ml_models import agrees, ml_node
from tests.frontend_onnx.tree_models import Leaf, Split, numbered


@pytest.mark.parametrize("text", ["0", "1", "1/2", "1/3", "2/3", "7/10", "17/180", "1/1000", "355/113", "1000"])
def test_a_fraction_is_found_again(text: str) -> None:
    assert simplest_fraction(np.float32(float(Fraction(text)))) == Fraction(text)


def test_fractions_round_to_their_float() -> None:
    numbers = np.abs(np.random.default_rng(1).standard_normal(200) * 10.0 ** np.arange(-10, 10).repeat(10))
    for number in numbers.astype(np.float32):
        assert np.float32(float(simplest_fraction(number))) == number


def test_common_denominators() -> None:
    assert common_denominator(np.array([0.5, 1 / 3, -1 / 6, 0]), 100) == 6
    assert common_denominator(np.array([1 / 7, 1 / 11]), 76) is None
    assert common_denominator(np.zeros(2), 1) == 1


def _shares(parts: list[list[int]]) -> list[Split | Leaf]:
    """Trees of one test, whose leaves have shares of three classes: parts of a tenth."""
    leaves = [Leaf(tuple((k, n / sum(part) / 10) for k, n in enumerate(part))) for part in parts]
    return [Split("BRANCH_LEQ", n % 3, 0.0, False, *pair) for n, pair in enumerate(zip(leaves[::2], leaves[1::2]))]


def test_shares_are_added_as_integers() -> None:
    """Of leaves of 1, 3 and 4 samples in ten trees: parts of 1/120, each less than a byte."""
    trees = _shares([[1, 0, 0], [0, 1, 2], [1, 1, 2], [0, 0, 1]] * 5)
    attrs = numbered(trees, "class")
    x = np.where(np.arange(8)[:, None] >> np.arange(3) & 1, 1, -1).astype(np.float32)
    agrees("TreeEnsembleClassifier", x, outputs=2, classlabels_int64s=[0, 1, 2], **attrs)
    graph = checked_import(ml_node("TreeEnsembleClassifier", [x], 2, classlabels_int64s=[0, 1, 2], **attrs)[0])
    node = next(node for node in graph.nodes if node.op == "trees")
    value = next(graph.constants[v.name] for v in node.operands[6:7])
    assert value.max() == 12 and value.dtype == np.uint8


def test_equal_shares_are_equal() -> None:
    """1/3 + 2/3 of one class is as much as 1 of another: the first has the label."""
    trees = _shares([[1, 2, 0], [1, 2, 0], [2, 1, 0], [2, 1, 0]])
    x = np.full((1, 3), -1, np.float32)
    label, _ = agrees("TreeEnsembleClassifier", x, outputs=2, classlabels_int64s=[5, 6, 7], **numbered(trees, "class"))
    assert label.tolist() == [5]
