"""Two programs of one model, timed against each other on this machine."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack

from ..driver import Compiled
from ..emit_llvm.jit import JitModel

_FEWEST = 5
"""Runs of each, at least."""


class Pair:
    """They take turns, so that both see the same of what else goes on, each with as many threads as it is for."""

    def __init__(self, first: Compiled, second: Compiled) -> None:
        self._compiled = (first, second)
        self._models = tuple(JitModel(each.program, each.machine) for each in self._compiled)
        self._sample = next(iter(first.samples()))

    def whole(self, seconds: float) -> tuple[float, float]:
        """The least seconds of a run of each."""
        times: tuple[list[float], list[float]] = ([], [])

        def turn() -> None:
            for model, taken in zip(self._models, times):
                run = model.caller(self._sample)
                run()
                start = time.perf_counter()
                run()
                taken.append(time.perf_counter() - start)

        self._repeat(turn, seconds)
        return min(times[0]), min(times[1])

    def by_layer(self, seconds: float) -> dict[str, tuple[float, float]]:
        """The least seconds of each layer of both, by its name; all calls of a layer together."""
        taken: tuple[list[list[int]], list[list[int]]] = ([], [])

        def turn() -> None:
            for model, runs in zip(self._models, taken):
                runs.append(model.timer(self._sample)())

        self._repeat(turn, seconds)
        both = [self._layers(number, [min(call) for call in zip(*runs)]) for number, runs in enumerate(taken)]
        return {name: (both[0][name], both[1][name]) for name in both[0] if name in both[1]}

    def _layers(self, number: int, nanoseconds: list[int]) -> dict[str, float]:
        found: dict[str, float] = defaultdict(float)
        for call, least in zip(self._compiled[number].program.calls, nanoseconds, strict=True):
            found[call.loc] += least / 1e9
        return found

    def _repeat(self, turn: Callable[[], None], seconds: float) -> None:
        with ExitStack() as stack:
            for model in self._models:
                stack.enter_context(model.threads(model.program.threads))
            turn()
            end, turns = time.perf_counter() + seconds, 0
            while turns < _FEWEST or time.perf_counter() < end:
                turn()
                turns += 1
