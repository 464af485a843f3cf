"""What a row of the block table says of a block instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ..ir.loops import Kernel, Var

THUMB = frozenset({"thumb"})
"""Routines of 16-bit instructions, for cores without packed arithmetic."""
LONG = frozenset({"thumb", "long_multiply"})
DSP = frozenset({"dsp"})
DSP_FPU = frozenset({"dsp", "fpu"})
"""Packed arithmetic, with floating-point registers besides: as scratch registers, where nothing is a float."""
MVE = frozenset({"mve"})


Cost = Callable[..., float]


def linear(call: float, each: float) -> Cost:
    """For blocks whose first scalar says how much there is to do."""
    return lambda count, *_: call + each * count


def of_groups(call: float, group: float, each: float) -> Cost:
    """For blocks that do so for a number of groups of channels."""
    return lambda groups, count, *_: call + groups * (group + each * count)


def of_tiles(call: float, tile: int, each: float, step: float, one: tuple[float, float] | None = None) -> Cost:
    """For contractions by steps of k and channels: ``each`` for a tile of channels, and ``step`` for each of its steps;
    likewise for ``one`` channel that is left over, where these are no tile."""

    def cost(steps: int, channels: int, *_: int) -> float:
        if one is None:
            return call + -(-channels // tile) * (each + step * steps)
        return call + channels // tile * (each + step * steps) + channels % tile * (one[0] + one[1] * steps)

    return cost


@dataclass(frozen=True)
class BlockInstruction:
    """A whole loop nest that a loop-IR ``Invoke`` may name.

    ``meaning`` maps values of ``scalars``, numbers or ``index`` expressions, to a kernel with one flat parameter for
    each pointer. ``extensions`` are those of a CPU (``Cpu.extensions``) that has the instruction. ``samples`` are
    values of the scalars, for the tests. ``selecting`` names scalars by which the C function chooses among several: of
    numbers, only the chosen one is compiled. ``cost`` maps values of the scalars to the instructions that the assembly
    takes; there is none where compilers make the code.
    """

    name: str
    scalars: tuple[str, ...]
    meaning: Callable[..., Kernel]
    extensions: frozenset[str]
    samples: tuple[tuple[int, ...], ...]
    selecting: frozenset[str] = frozenset()
    cost: Cost | None = None

    def general(self) -> Kernel:
        """The meaning for any scalars, as a kernel that takes them."""
        scalars = tuple(Var(name) for name in self.scalars)
        kernel = self.meaning(*scalars)
        return Kernel(self.name, kernel.params, kernel.body, scalars=scalars)

    def kernel(self, numbers: tuple[int, ...]) -> Kernel:
        """The meaning for ``numbers``, under :func:`block_name`."""
        return _kernel(self, numbers)


@lru_cache(maxsize=256)
def _kernel(row: BlockInstruction, numbers: tuple[int, ...]) -> Kernel:
    kernel = row.meaning(*numbers)
    return Kernel(block_name(row.name, numbers), kernel.params, kernel.body, kernel.loc)


def block_name(name: str, numbers: tuple[int, ...]) -> str:
    """``stage_16``: an identifier for a block instruction with its scalars."""
    return "_".join((name, *(str(number).replace("-", "m") for number in numbers)))
