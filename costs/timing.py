"""Time that a run takes on this machine, layer by layer."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping

import numpy as np

from ..emit_llvm.jit import JitModel
from ..record import record

SECONDS = 1.0
"""How long runs are repeated, a half for whole runs, a half call by call."""
_FEWEST = 5
_WARM_UP = 2


@record
class Timed:
    """In nanoseconds: the least and the median of whole runs, and the least of each call (``JitModel.timer``)."""

    least: int
    median: int
    calls: tuple[int, ...]


def time_model(model: JitModel, inputs: Mapping[str, np.ndarray], seconds: float = SECONDS) -> Timed:
    """Runs ``model`` on ``inputs`` for about so many ``seconds``, a few times at least."""
    run, by_call = model.caller(inputs), model.timer(inputs)
    for _ in range(_WARM_UP):
        run()
    whole: list[int] = []
    end = time.perf_counter() + seconds / 2
    while len(whole) < _FEWEST or time.perf_counter() < end:
        start = time.perf_counter_ns()
        run()
        whole.append(time.perf_counter_ns() - start)
    calls: list[list[int]] = []
    end = time.perf_counter() + seconds / 2
    while len(calls) < _FEWEST or time.perf_counter() < end:
        calls.append(by_call())
    least = tuple(min(times) for times in zip(*calls))
    return Timed(min(whole), round(statistics.median(whole)), least)
