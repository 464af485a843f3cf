"""What a compilation is to save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ..schedule.decision import NOTHING_TUNED, Tuned


class Optimize(Enum):
    """What a compilation is to save.

    * ``BALANCED``: where flash is scarce, layers share kernels if that costs little speed.
    * ``RAM``: layers are streamed row by row wherever that lowers the peak of memory.
    * ``SIZE``: as little code as can be: layers share kernels, and compilers are asked for small code.
    * ``SPEED``: no instruction for the sake of size; constants may take several times their memory, unless there is a
      limit of RAM.
    """

    BALANCED = "balanced"
    RAM = "ram"
    SIZE = "size"
    SPEED = "speed"


@dataclass(frozen=True)
class Goal:
    """What a compilation is to save, and the working memory that there is.

    ``max_ram`` bytes are to be enough for all working memory, inputs and outputs included; ``None``: no limit.
    ``pools`` name parts of it, fastest first, with the bytes of each; the last may have no limit. Without any, there is
    one arena. With ``threads``, the work of large layers is split into chunks for so many of them; 0: none. ``tuned``
    says which loops were measured to be faster than those that are estimated to be the fastest.
    """

    optimize: Optimize = Optimize.BALANCED
    max_ram: int | None = None
    pools: Mapping[str, int | None] = field(default_factory=dict)
    threads: int = 0
    tuned: Tuned = field(default_factory=lambda: NOTHING_TUNED)

    @property
    def scarce_ram(self) -> bool:
        """Whether memory is to be saved: the goal is RAM, or there is a limit of any kind."""
        limits = (self.max_ram, *self.pools.values())
        return self.optimize is Optimize.RAM or any(limit is not None for limit in limits)


DEFAULT_GOAL = Goal()
