"""What a compilation is to save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Optimize(Enum):
    """``RAM``: layers are streamed row by row wherever that lowers the peak of memory."""

    BALANCED = "balanced"
    RAM = "ram"


@dataclass(frozen=True)
class Goal:
    """``max_ram`` bytes are to be enough for all working memory, inputs and outputs included; ``None``: no limit.
    ``pools`` name parts of it, fastest first, with the bytes of each; the last may have no limit. Without any, there is
    one arena."""

    optimize: Optimize = Optimize.BALANCED
    max_ram: int | None = None
    pools: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def scarce_ram(self) -> bool:
        limits = (self.max_ram, *self.pools.values())
        return self.optimize is Optimize.RAM or any(limit is not None for limit in limits)


DEFAULT_GOAL = Goal()
