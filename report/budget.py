"""Whether a compiled model fits what there is: flash, RAM, stack, time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..errors import CcmlError, ErrorCode
from ..record import record

# What a budget is compared with takes long to import, and most models are quantized for none.
if TYPE_CHECKING:
    from ..program.goal import Goal
    from ..targets.development_boards import DevelopmentBoard
    from .schema import Totals


@dataclass(frozen=True)
class Budget:
    """Limits, ``None`` where there is none: bytes of flash, of RAM with the stack (``max_ram``, in one block), of the
    stack alone, cycles of a run, and its seconds at a ``clock`` in Hz.

    ``where`` is what has them, such as a board, ``wait_states`` are those of its flash. ``blocks`` are the bytes of its
    RAM by name, for a model with pools that are called so; the stack is in the largest.
    """

    max_flash: int | None = None
    max_ram: int | None = None
    max_stack: int | None = None
    max_time: float | None = None
    max_cycles: int | None = None
    clock: int | None = None
    where: str = ""
    wait_states: int | None = None
    blocks: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_limits(self) -> bool:
        """Whether anything can fail to fit."""
        limits = (self.max_flash, self.max_ram, self.max_stack, self.max_time, self.max_cycles)
        return any(each is not None for each in limits)


NO_BUDGET = Budget()

_NO_CYCLES = "no cycles are known well enough for this core"


@record
class Need:
    """What a model takes of something limited, in bytes, cycles or seconds."""

    what: str
    amount: float
    limit: float

    @property
    def fits(self) -> bool:
        return self.amount <= self.limit

    def __str__(self) -> str:
        """``flash 35,208 of 65,536 bytes``."""
        if self.what == "time":
            return f"time {_milliseconds(self.amount)} of {_milliseconds(self.limit)} ms"
        return f"{self.what} {self.amount:,.0f} of {self.limit:,.0f}{self._unit}"

    def taken(self) -> str:
        """``35,208 bytes of flash``."""
        if self.what == "time":
            return f"{_milliseconds(self.amount)} ms"
        return f"{self.amount:,.0f} cycles" if self.what == "cycles" else f"{self.amount:,.0f} bytes of {self.what}"

    @property
    def _unit(self) -> str:
        return "" if self.what == "cycles" else " bytes"


def _milliseconds(seconds: float) -> str:
    """Three digits, or all in front of the point."""
    value = 1000 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def require_board(name: str) -> DevelopmentBoard:
    """The board called ``name``. Raises ``BAD_OPTION`` where there is none."""
    from ..targets.development_boards import find_board

    try:
        return find_board(name)
    except KeyError as problem:
        reason = str(problem.args[0])
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="'ccml boards' lists all that are known") from None


def check_board(name: str, target: str) -> DevelopmentBoard:
    """The board called ``name``. Raises ``BAD_OPTION`` where there is none, or it has another core than ``target``."""
    from ..targets import find

    board = require_board(name)
    known = find(target)
    if known is None or known.name != board.target:
        reason = f"the board {board.name} is no {target}: it has a {board.chip}, --target {board.target}"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, hint=f"--board {board.name} alone is enough")
    return board


def board_budget(board: DevelopmentBoard, goal: Goal, given: Budget = NO_BUDGET) -> Budget:
    """The limits of ``board``, narrowed by those that are ``given``; RAM is that of its largest block, unless the pools
    of ``goal`` say which there are."""
    return replace(
        given,
        max_flash=min(board.flash.size, given.max_flash or board.flash.size),
        max_ram=None if goal.pools else board.largest_ram.region.size,
        clock=given.clock or board.clock,
        where=board.title,
        wait_states=board.wait_states,
        blocks=board.pools,
    )


def board_target(board: str) -> str:
    """The target of a board. Raises ``BAD_OPTION`` where there is no such board."""
    return require_board(board).target


def whole_budget(budget: Budget, board: str | None, goal: Goal) -> Budget:
    """``budget`` with the limits of ``board``."""
    return budget if board is None else board_budget(require_board(board), goal, budget)


def run_cycles(totals: Totals) -> int | None:
    """The most cycles that are predicted of a run, ``None`` where they are not known."""
    return totals.cycles_high if totals.cycles_high is not None else totals.cycles


def run_seconds(totals: Totals, clock: int | None) -> float | None:
    """The seconds of a run, by the most cycles that are predicted; ``None`` where these or the clock are not known."""
    cycles = run_cycles(totals)
    return None if cycles is None or not clock else cycles / clock


def needs(totals: Totals, budget: Budget) -> list[Need]:
    """What the model takes of everything that is limited.

    Raises ``BAD_OPTION`` where a limit cannot be judged: no cycles or no stack are known for the target.
    """
    return list(_needs(totals, budget))


def _needs(totals: Totals, budget: Budget) -> Iterator[Need]:
    if budget.max_flash is not None:
        if totals.flash_bytes is None:
            raise _unknown("--max-flash", "no code was made whose size could be told", "add lib to --emit")
        yield Need("flash", totals.flash_bytes, budget.max_flash)
    if totals.pools and {pool.name for pool in totals.pools} <= {*budget.blocks}:
        yield from _needs_of_blocks(totals, budget.blocks)
    elif budget.max_ram is not None:
        ram = totals.ram_bytes if len(totals.pools) == 1 else 0
        yield Need("RAM with stack", ram + totals.state_bytes + (totals.stack_bytes or 0), budget.max_ram)
    if budget.max_stack is not None:
        if totals.stack_bytes is None:
            raise _unknown("--max-stack", "no stack is known for this target", "docs/costs.md tells for which it is")
        yield Need("stack", totals.stack_bytes, budget.max_stack)
    if budget.max_cycles is not None:
        cycles = run_cycles(totals)
        if cycles is None:
            raise _unknown("--max-cycles", _NO_CYCLES, "docs/costs.md tells for which cores they are")
        yield Need("cycles", cycles, budget.max_cycles)
    if budget.max_time is not None:
        seconds = run_seconds(totals, budget.clock)
        if seconds is None and budget.clock:
            raise _unknown("--max-time", _NO_CYCLES, "docs/costs.md tells for which cores they are")
        if seconds is None:
            raise _unknown("--max-time", "the clock of the core is not known", "--clock 168MHz, or --board NAME")
        yield Need("time", seconds, budget.max_time)


def _needs_of_blocks(totals: Totals, blocks: Mapping[str, int]) -> Iterator[Need]:
    """Those of pools that are called as the blocks of RAM, in the order of these."""
    used = {pool.name: pool.ram_bytes for pool in totals.pools}
    beside = totals.state_bytes + (totals.stack_bytes or 0)
    largest = max(blocks, key=lambda name: blocks[name])
    for name, size in blocks.items():
        if name == largest:
            yield Need(f"{name} with stack", used.get(name, 0) + beside, size)
        elif name in used:
            yield Need(name, used[name], size)


def _unknown(option: str, reason: str, hint: str) -> CcmlError:
    return CcmlError(ErrorCode.BAD_OPTION, reason, loc=option, hint=hint)


def budget_text(totals: Totals, budget: Budget) -> str:
    """One line on a model that fits: shares of what there is, and the time of a run."""
    parts = [f"{need.what} {100 * need.amount / need.limit:.0f} %" for need in needs(totals, budget) if need.limit]
    seconds = run_seconds(totals, budget.clock)
    if seconds is not None and budget.clock is not None:
        waits = f", the flash has {budget.wait_states}" if budget.wait_states else ""
        parts.append(f"{_milliseconds(seconds)} ms at {budget.clock / 1e6:g} MHz and zero wait states{waits}")
    return "; ".join(parts)
