"""Random graphs of integer inference: the same bytes."""

from __future__ import annotations

import pytest

from tests.integerize.building import check
from tests.integerize.random_graphs import RandomGraph, RandomLayers


@pytest.mark.parametrize("seed", range(12))
def test_same_bytes(seed: int) -> None:
    check(RandomGraph(seed).grown(8), seeds=2)


@pytest.mark.parametrize("seed", range(12))
def test_layers(seed: int) -> None:
    check(RandomLayers(seed).grown(6), same=False, seeds=2)
