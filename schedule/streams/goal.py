"""What a compilation is to save."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Optimize(Enum):
    """``RAM``: layers are streamed row by row wherever that lowers the peak of memory.

    ``SIZE``: as little code as can be: layers share kernels, and compilers are asked for small code. ``SPEED``: no
    instruction for the sake of size. ``BALANCED``: where flash is scarce, layers share kernels if that costs little.
    """

    BALANCED = "balanced"
    RAM = "ram"
    SIZE = "size"
    SPEED = "speed"


@dataclass(frozen=True)
class Goal:
    """``max_ram`` bytes are to be enough for the arena (with inputs and outputs in it); ``None``: no limit."""

    optimize: Optimize = Optimize.BALANCED
    max_ram: int | None = None

    @property
    def scarce_ram(self) -> bool:
        return self.optimize is Optimize.RAM or self.max_ram is not None


DEFAULT_GOAL = Goal()
