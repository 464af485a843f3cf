"""A slice of the matrix of uses of recurrent layers; ``python -m tests.recurrent.matrix`` runs all of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from ccml.targets import select

from tests.machines_here import distinct_machines
from tests.recurrent.boards import board_failures
from tests.recurrent.matrix import DIRECTIONS, LENGTHS, TAILS, Case, all_cases, failures, in_turn
from tests.tools import needs

MACHINES = distinct_machines()
CASES = list(all_cases())


def chosen(cases: Iterable[Case], count: int, seed: int) -> list[Case]:
    known = list(cases)
    return [known[place] for place in np.random.default_rng(seed).permutation(len(known))[:count]]


def test_the_matrix_is_whole() -> None:
    subsets = {"LSTM": 7, "GRU": 3, "RNN": 3}
    assert len(CASES) == len(set(CASES)) == sum(subsets.values()) * 2 * 2 * len(LENGTHS) * len(DIRECTIONS) * len(TAILS)
    for op, count in subsets.items():
        assert len({case.outputs for case in CASES if case.op == op}) == count


FLOATS = chosen((case for case in CASES if not case.quantized), 48, 1)
BYTES = chosen((case for case in CASES if case.quantized and case.length != 10), 12, 2)
WRITTEN_OUT = chosen((case for case in CASES if case.quantized and case.length == 10 and case.op == "GRU"), 1, 3)


@pytest.mark.parametrize(("number", "case"), list(enumerate([*FLOATS, *BYTES, *WRITTEN_OUT])), ids=str)
def test_slice(number: int, case: Case) -> None:
    assert failures(case, in_turn(MACHINES, number, 2)) == []


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("core", ["m0plus", "m4", "m55"])
def test_boards(core: str, tmp_path: Path) -> None:
    """One program of many layers, by objects."""
    assert board_failures(chosen((case for case in CASES if not case.quantized), 12, 4), select(core), tmp_path) == []
