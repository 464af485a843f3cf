"""Whether a model fits: limits, boards, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from ccml.driver import Goal
from ccml.errors import CcmlError
from ccml.report.budget import Budget, board_budget, budget_text, check_board, needs, run_seconds
from ccml.report.schema import PoolTotals, Totals
from ccml.targets import TARGETS, find
from ccml.targets.development_boards import DEVELOPMENT_BOARDS

ARENA = PoolTotals("arena", 10_000, 8_000, 16, None, 10_000, [], 0)
TOTALS = Totals(
    ram_bytes=10_000, arena_bytes=8_000, arena_align=16, peak_live_bytes=10_000, peak_tensors=[], weight_bytes=30_000,
    code_bytes=6_000, flash_bytes=36_000, stack_bytes=300, macs=1, instructions=90_000, cycles=100_000,
    cycles_low=90_000, cycles_high=120_000, pools=[ARENA], state_bytes=200,
)  # fmt: skip


def test_each_limit_is_compared_with_what_it_limits() -> None:
    budget = Budget(
        max_flash=36_000, max_ram=10_499, max_stack=299, max_cycles=119_999, max_time=0.002, clock=60_000_000
    )  # fmt: skip
    found = {need.what: (need.amount, need.fits) for need in needs(TOTALS, budget)}
    assert found == {
        "flash": (36_000, True), "RAM with stack": (10_500, False), "stack": (300, False),
        "cycles": (120_000, False), "time": (0.002, True),
    }  # fmt: skip


def test_time_is_that_of_the_most_cycles() -> None:
    assert run_seconds(TOTALS, 120_000) == 1.0
    assert run_seconds(replace(TOTALS, cycles_high=None), 100_000) == 1.0
    assert run_seconds(replace(TOTALS, cycles=None, cycles_high=None), 1000) is None


@pytest.mark.parametrize(
    "totals, budget, said",
    [
        (TOTALS, Budget(max_time=1.0), "the clock of the core is not known"),
        (replace(TOTALS, cycles=None, cycles_high=None), Budget(max_time=1.0, clock=1), "no cycles are known"),
        (replace(TOTALS, cycles=None, cycles_high=None), Budget(max_cycles=1), "no cycles are known"),
        (replace(TOTALS, stack_bytes=None), Budget(max_stack=1), "no stack is known"),
        (replace(TOTALS, flash_bytes=None), Budget(max_flash=1), "no code was made"),
    ],
)
def test_a_limit_that_cannot_be_judged_is_an_error(totals: Totals, budget: Budget, said: str) -> None:
    with pytest.raises(CcmlError, match=said):
        needs(totals, budget)


def test_a_board_limits_flash_and_its_largest_ram() -> None:
    board = check_board("stm32f4-discovery", "cortex-m4")
    budget = board_budget(board, Goal(), Budget(max_time=0.1))
    assert (budget.max_flash, budget.max_ram, budget.clock) == (1 << 20, 128 << 10, 168_000_000)
    assert budget.max_time == 0.1
    assert board_budget(board, Goal(pools={"ccm": 65536, "sram": None})).max_ram is None
    assert board_budget(board, Goal(), Budget(max_flash=1000, clock=16_000_000)).max_flash == 1000
    assert "5" in budget_text(TOTALS, budget) and "0.714 ms at 168 MHz" in budget_text(TOTALS, budget)


def test_boards_have_targets_and_memory_that_make_sense() -> None:
    names = [board.name for board in DEVELOPMENT_BOARDS]
    assert len(names) >= 24 and len(set(names)) == len(names)
    cores = {target.name for target in TARGETS if target.family in ("Cortex-M", "32-bit RISC-V")}
    for board in DEVELOPMENT_BOARDS:
        assert board.target in cores and find(board.target) is not None
        regions = sorted((region.origin, region.size) for region in (board.flash, *(each.region for each in board.ram)))
        assert all(start + size <= after for (start, size), (after, _) in pairwise(regions)), board.name
        assert 8 << 20 <= board.clock <= 1_000_000_000 and all(name.isidentifier() for name in board.pools)


def test_an_unknown_board_names_similar_ones() -> None:
    with pytest.raises(CcmlError, match="did you mean nucleo-f401re or nucleo-f411re"):
        check_board("nucleo-f4", "cortex-m4")
    with pytest.raises(CcmlError, match=r"the board microbit is no m7: it has a nRF51822, --target cortex-m0"):
        check_board("microbit", "m7")
