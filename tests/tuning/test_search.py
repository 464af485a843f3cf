"""The search, with measurements that are made up: what it finds, and what it leaves alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import pytest
from ccml.ir.loops import Alloc, Kernel, Space
from ccml.ir.loops_rewrite import walk_stmts
from ccml.targets import Machine, select
from ccml.tuning.database import Meter
from ccml.tuning.measure import Measured, Task
from ccml.tuning.regression import Regression
from ccml.tuning.search import BATCH, Search, layers_of
from ccml.tuning.single import singles
from ccml.tuning.space import FEATURES

from tests.tuning.cases import FLOATS

MACHINE = select("x86", cpu="x86-64-v3")


def tile(kernel: Kernel) -> tuple[int, int]:
    """Rows and vectors of the largest block of accumulators."""
    blocks = [
        stmt.buffer.shape[-2:]
        for stmt in walk_stmts(kernel.body)
        if isinstance(stmt, Alloc) and stmt.buffer.space is Space.REG and len(stmt.buffer.shape) == 3
    ]
    rows, vectors = max(blocks, key=math.prod)
    return rows, vectors


class PretendedMachine(Executor):
    """Where a block is the faster the closer it is to the ``best`` one. It counts tasks, and how many wait at once."""

    def __init__(self, best: tuple[int, int]) -> None:
        self.best, self.tasks = best, 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        (task,) = args
        assert isinstance(task, Task) and 2 <= len(task.kernels) <= BATCH + 1
        self.tasks += 1
        future: Future[Measured] = Future()
        future.set_result(Measured(tuple(self._seconds(timed.kernel) for timed in task.kernels), "pretended"))
        return future

    def _seconds(self, kernel: Kernel) -> float:
        rows, vectors = tile(kernel)
        return 1e-3 * (1 + abs(rows - self.best[0]) / 4 + abs(vectors - self.best[1]))


@pytest.mark.parametrize("best", [(1, 4), (7, 1), (3, 3)])
def test_it_finds_the_best_block(best: tuple[int, int]) -> None:
    found, machine = search("matmul", PretendedMachine(best))
    (layer,) = found.layers
    decision, ratio = layer.best
    assert decision is None or decision.shape is not None
    expected = (decision.shape.rows, decision.shape.vectors) if decision and decision.shape else best
    assert abs(expected[0] - best[0]) <= 1 and abs(expected[1] - best[1]) <= 1
    assert machine.tasks < len(layer.known)
    assert ratio <= 1


def test_it_ends_where_nothing_is_better() -> None:
    """Of all possibilities, a few are measured."""

    class Even(PretendedMachine):
        def _seconds(self, kernel: Kernel) -> float:
            return 1e-3

    found, machine = search("1x1", Even((1, 1)))
    (layer,) = found.layers
    assert layer.best == (None, 1.0)
    assert machine.tasks <= 2 * 3 + 2
    assert layer.open


def search(name: str, machine: PretendedMachine, target: Machine = MACHINE) -> tuple[Search, PretendedMachine]:
    layers = layers_of(singles(FLOATS[name](), target), target)
    found = Search(layers, target, Meter.TIME, 600, 0, machine)
    for each in found.run():
        assert each.value > 0 and each.processor == "pretended"
    return found, machine


def test_the_regression_learns_what_features_do() -> None:
    """Of measurements that depend on one feature it predicts others; without any it believes the estimate."""
    regression, random = Regression(), np.random.default_rng(0)
    start = np.zeros(FEATURES)
    better = np.zeros(FEATURES)
    better[0] = math.log(0.5)
    assert regression.predict([better], start) == pytest.approx([0.5])
    for _ in range(60):
        features = random.random(FEATURES)
        regression.add(features, start, math.exp(0.8 * features[3]))
    low, high = np.full(FEATURES, 0.5), np.full(FEATURES, 0.5)
    low[3], high[3] = 0.1, 0.9
    predicted = regression.predict([low, high], start)
    assert predicted[1] / predicted[0] == pytest.approx(math.exp(0.64), rel=0.1)
