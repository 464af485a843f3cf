"""Two programs of one model, timed against each other on this machine."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable

from ..driver import Compiled
from ..emit_llvm.jit import JitModel

_FEWEST = 5
"""Runs of each, at least."""


class Pair:
    """They take turns, so that both see the same of what else goes on."""

    def __init__(self, first: Compiled, second: Compiled) -> None:
        self._compiled = (first, second)
        self._models = tuple(JitModel(each.program, each.machine) for each in self._compiled)
        self._sample = next(iter(first.samples()))

    def whole(self, seconds: float) -> tuple[float, float]:
        """The least seconds of a run of each."""
        runs = [model.caller(self._sample) for model in self._models]
        times: tuple[list[float], list[float]] = ([], [])

        def turn() -> None:
            for run, taken in zip(runs, times):
                start = time.perf_counter()
                run()
                taken.append(time.perf_counter() - start)

        _repeat(turn, seconds)
        return min(times[0]), min(times[1])

    def by_layer(self, seconds: float) -> dict[str, tuple[float, float]]:
        """The least seconds of each layer of both, by its name; all calls of a layer together."""
        timers = [model.timer(self._sample) for model in self._models]
        taken: tuple[list[list[int]], list[list[int]]] = ([], [])

        def turn() -> None:
            for timer, runs in zip(timers, taken):
                runs.append(timer())

        _repeat(turn, seconds)
        both = [self._layers(number, [min(call) for call in zip(*runs)]) for number, runs in enumerate(taken)]
        return {name: (both[0][name], both[1][name]) for name in both[0] if name in both[1]}

    def _layers(self, number: int, nanoseconds: list[int]) -> dict[str, float]:
        found: dict[str, float] = defaultdict(float)
        for call, least in zip(self._compiled[number].program.calls, nanoseconds, strict=True):
            found[call.loc] += least / 1e9
        return found


def _repeat(turn: Callable[[], None], seconds: float) -> None:
    turn()
    end, turns = time.perf_counter() + seconds, 0
    while turns < _FEWEST or time.perf_counter() < end:
        turn()
        turns += 1
