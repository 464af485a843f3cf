"""What a compilation is to save."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Optimize(Enum):
    """``RAM``: layers are streamed row by row wherever that lowers the peak of memory."""

    BALANCED = "balanced"
    RAM = "ram"


@dataclass(frozen=True)
class Goal:
    """``max_ram`` bytes are to be enough for the arena (with inputs and outputs in it); ``None``: no limit."""

    optimize: Optimize = Optimize.BALANCED
    max_ram: int | None = None

    @property
    def scarce_ram(self) -> bool:
        return self.optimize is Optimize.RAM or self.max_ram is not None


DEFAULT_GOAL = Goal()
