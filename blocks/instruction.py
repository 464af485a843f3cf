"""What a row of the block table says of a block instruction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from functools import lru_cache

from ..ir.loops import Kernel, Var
from ..record import record

THUMB = frozenset({"thumb"})
"""Routines of 16-bit instructions, for cores without packed arithmetic."""
LONG = frozenset({"thumb", "long_multiply"})
DSP = frozenset({"dsp"})
DSP_FPU = frozenset({"dsp", "fpu"})
"""Packed arithmetic, with floating-point registers besides: as scratch registers, where nothing is a float."""
MVE = frozenset({"mve"})


Formula = Callable[..., float]
"""Values of a block's scalars to cycles."""


def linear(call: float, each: float) -> Formula:
    """For blocks whose first scalar says how much there is to do."""
    return lambda count, *_: call + each * count


def of_fours(call: float, four: float, one: float) -> Formula:
    """For blocks that do four at a time, and then ``one`` and one."""
    return lambda count, *_: call + four * (count // 4) + one * (count % 4)


def of_vectors(call: float, each: float) -> Formula:
    """For blocks whose first scalar says how many bytes there are, of which sixteen are a vector."""
    return lambda count, *_: call + each * -(-count // 16)


def of_groups(call: float, group: float, each: float) -> Formula:
    """For blocks that do so for a number of groups of channels."""
    return lambda groups, count, *_: call + groups * (group + each * count)


def of_tiles(call: float, tile: int, each: float, step: float, one: tuple[float, float] | None = None) -> Formula:
    """For contractions by steps of k and channels: ``each`` for a tile of channels, and ``step`` for each of its steps;
    likewise for ``one`` channel that is left over, where these are no tile."""

    def cycles(steps: int, channels: int, *_: int) -> float:
        if one is None:
            return call + -(-channels // tile) * (each + step * steps)
        return call + channels // tile * (each + step * steps) + channels % tile * (one[0] + one[1] * steps)

    return cycles


@record
class Cycles:
    """What assembly takes, arguments included, on the cores that an extension tells apart from those before it.

    The figures are those of one core each, with memory without wait states: Cortex-M0+, M3, M4 and M55, and a Xeon with
    AMX. Others of the same extensions (M0; M7 and M33; M85) take about as many times more or less for all blocks.
    """

    thumb: Formula | None = None
    long_multiply: Formula | None = None
    dsp: Formula | None = None
    mve: Formula | None = None
    amx: Formula | None = None

    def on(self, extensions: Collection[str]) -> Formula | None:
        """The formula for a CPU with these ``extensions``; ``None`` where it has no assembly."""
        formulas = [formula for name in _CORES if name in extensions and (formula := getattr(self, name)) is not None]
        return formulas[-1] if formulas else None


_CORES = tuple(each.name for each in fields(Cycles))


@record
class BlockInstruction:
    """A whole loop nest that a loop-IR ``Invoke`` may name.

    ``meaning`` maps values of ``scalars``, numbers or ``index`` expressions, to a kernel with one flat parameter for
    each pointer. ``extensions`` are those of a CPU (``Cpu.extensions``) that has the instruction. ``samples`` are
    values of the scalars, for the tests. Without ``cycles`` compilers make the code. The schedule does
    not count what is not ``weighed`` when it chooses: it saves memory, which is not compared with cycles. What
    the parameters of one ``in_parts`` are touched at may lie apart: what lies between is not touched. One ``in_steps``
    takes so many elements of all parameters, from the first on: all of a step are read before one of it is written,
    and these before the next step, so that a result may take an operand's place. Where several
    rows of a result are made at once (``rows_together``), a layer of it does not go row by row. A ``roomy`` one takes
    more working memory than another that layers have in its place where they go row by row.
    """

    name: str
    scalars: tuple[str, ...]
    meaning: Callable[..., Kernel]
    extensions: frozenset[str]
    samples: tuple[tuple[int, ...], ...]
    cycles: Cycles = Cycles()
    weighed: bool = True
    in_parts: bool = False
    in_steps: int = 0
    rows_together: bool = False
    roomy: bool = False

    def general(self) -> Kernel:
        """The meaning for any scalars, as a kernel that takes them."""
        scalars = tuple(Var(name) for name in self.scalars)
        kernel = self.meaning(*scalars)
        return Kernel(self.name, kernel.params, kernel.body, scalars=scalars)

    def own_cycles(self, numbers: Sequence[int]) -> float | None:
        """What its assembly takes for ``numbers``, on the first core that has it; ``None`` where compilers make the
        code."""
        formula = self.cycles.on(self.extensions)
        return None if formula is None else formula(*numbers)

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
