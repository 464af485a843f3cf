"""What the loop IR asks of the tables of instructions that ``Call`` and ``Invoke`` name.

The tables stand above it, in ``ccml.instructions`` and ``ccml.blocks``; verifier and interpreter are given them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from .loops import Kernel
from .types import DType


class Instruction(Protocol):
    """What a ``Call`` may name: one function, applied lane by lane.

    ``operands``/``result`` are element types, or ``None`` for "the common floating type of the call".
    ``meaning`` maps NumPy scalars to a NumPy scalar; with ``across``, arrays of all lanes to an array of all lanes.
    """

    @property
    def operands(self) -> tuple[DType | None, ...]: ...

    @property
    def result(self) -> DType | None: ...

    @property
    def meaning(self) -> Callable[..., object]: ...

    @property
    def across(self) -> bool: ...


class BlockInstruction(Protocol):
    """What an ``Invoke`` may name: the loop nest that it stands for with certain numbers for its ``scalars``."""

    @property
    def scalars(self) -> tuple[str, ...]: ...

    def kernel(self, numbers: tuple[int, ...]) -> Kernel: ...


InstructionTable = Mapping[str, Instruction]
"""Instructions by name."""

BlockTable = Mapping[str, BlockInstruction]
"""Block instructions by name."""

NO_INSTRUCTIONS: InstructionTable = MappingProxyType({})
NO_BLOCKS: BlockTable = MappingProxyType({})
