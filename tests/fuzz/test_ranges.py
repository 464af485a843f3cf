"""Random graphs over ranges of extents, in threads as well (``tests/fuzz/ranges.py`` runs as many as one likes)."""

from __future__ import annotations

import pytest

from tests.fuzz.ranges import verdict

COUNT = 40


@pytest.mark.parametrize("threads", [0, 2])
def test_results_are_those_of_the_definition_at_all_extents(threads: int) -> None:
    found = [(seed, *verdict(seed, threads)) for seed in range(1000 * threads, 1000 * threads + COUNT)]
    assert not [each for each in found if each[1] in ("wrong", "internal")]
    assert sum(kind == "ok" for _, kind, _ in found) > 0.7 * COUNT
