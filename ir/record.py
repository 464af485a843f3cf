"""Data classes of which a compilation makes very many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

Class = TypeVar("Class")


@dataclass_transform(frozen_default=True)
def record(cls: type[Class]) -> type[Class]:
    """``@dataclass(frozen=True)`` to type checkers, which refuse assignments to fields; at run time nothing does.

    ``__init__`` of a frozen data class sets each field through ``object.__setattr__`` and takes three times as long,
    which was a tenth of a compilation for the nodes of loop IR alone.
    """
    return dataclass(unsafe_hash="__hash__" not in vars(cls))(cls)
