"""Cycles of Cortex-M cores by classes of instructions: estimates at zero wait states, without interrupts.

Tables of the Technical Reference Manuals where there is one: Cortex-M0 DDI 0432C and Cortex-M0+ DDI 0484C (3.3),
Cortex-M3 DDI 0337I and Cortex-M4 DDI 0439B (3.3.1 and 3.3.3, 7.2.3 for its FPU). Arm prints none for Cortex-M33
(100230) and Cortex-M55 (101051), whose rows are rougher; for Cortex-M7 and Cortex-M85, which issue two instructions a
cycle, nothing is known well enough, and no cycles are said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from ..record import record


class Estimate(NamedTuple):
    """Cycles: the least and the most that the sources allow, and what is typical."""

    low: float
    typical: float
    high: float

    def __add__(self, other: tuple[float, ...]) -> Estimate:  # type: ignore[override]
        return Estimate(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: float) -> Estimate:
        """So many times as many."""
        return Estimate(*(factor * each for each in self))


def exactly(cycles: float) -> Estimate:
    """A cost without a range."""
    return Estimate(cycles, cycles, cycles)


ZERO, ONE = exactly(0), exactly(1)


@record
class ScalarTiming:
    """A core that executes one instruction after the other.

    ``cycles`` by class of instruction (``costs/instruction.py``), one where a class is not listed. What differs with
    the neighbours of an instruction stands for itself: ``load`` and ``load_after_load`` (behind a single load that did
    not make its address), ``store``, with an offset in a register ``store_register_offset``, and that
    behind a single load ``store_after_load``, ``store_float``; loads and stores of n words take ``1 + n``. More take a
    load relative to the program counter (``literal``), an access whose address was computed right before
    (``address_stall``), and an instruction that uses what was loaded right before (``load_use``). Taken branches take
    ``refill`` more, calls ``refill_call``, loads of the program counter ``refill_load``, jumps through tables
    ``table_branch``.
    """

    source: str
    refill: Estimate
    refill_call: Estimate
    refill_load: Estimate
    load: Estimate
    load_after_load: Estimate
    store: Estimate
    store_register_offset: Estimate
    store_after_load: Estimate
    store_float: Estimate = ONE
    literal: Estimate = ZERO
    address_stall: Estimate = ZERO
    load_use: Estimate = ZERO
    table_branch: Estimate = ZERO
    cycles: Mapping[str, Estimate] = field(default_factory=dict)


class Issue(NamedTuple):
    """How a class of instructions goes through a pipeline: it holds a ``unit`` for ``busy`` cycles, and what depends on
    its result may issue ``latency`` cycles later."""

    unit: str
    busy: Estimate
    latency: Estimate


@record
class PipelineTiming:
    """A core that issues one instruction a cycle in order, into units that work side by side.

    ``issue`` by class of instruction, ``other`` where a class is not listed; the ``scalar`` unit holds up the issue
    itself. ``words_per_cycle`` are those of loads and stores of several registers. Taken branches take ``refill`` more,
    but for the jumps of low-overhead loops, of which only the first costs ``loop_start``. The index vector of a gather
    is read ``gather_index`` cycles early, and a load that issues two cycles behind a vector store may wait for
    ``store_load_hazard``.
    """

    source: str
    issue: Mapping[str, Issue]
    other: Issue
    refill: Estimate
    loop_start: Estimate
    words_per_cycle: Estimate
    gather_index: Estimate
    store_load_hazard: Estimate


Timing = ScalarTiming | PipelineTiming

_V7M = {"divide": Estimate(2, 7, 12), "if_then": Estimate(0, 1, 1)}
_FPV4 = {
    "float_mac": exactly(3), "float_divide": Estimate(1, 14, 14), "float_move": Estimate(1, 2, 2),
    "float_move_pair": exactly(2),
}  # fmt: skip
_REFILL = Estimate(1, 2, 3)

_M3 = ScalarTiming(
    source="DDI 0337I 3.3.1, 3.3.3",
    refill=_REFILL, refill_call=_REFILL, refill_load=_REFILL,
    load=exactly(2), load_after_load=ONE, store=ONE, store_register_offset=exactly(2), store_after_load=ONE,
    literal=Estimate(0, 0, 1), address_stall=ONE, table_branch=exactly(3),
    cycles={
        **_V7M, "multiply_add": exactly(2), "long_multiply": Estimate(3, 4, 5),
        "long_multiply_add": Estimate(4, 5, 7),
    },
)  # fmt: skip
_M4 = ScalarTiming(
    source="DDI 0439B 3.3.1, 3.3.3, 7.2.3",
    refill=_REFILL, refill_call=_REFILL, refill_load=_REFILL,
    load=exactly(2), load_after_load=ONE, store=ONE, store_register_offset=exactly(2), store_after_load=ONE,
    store_float=Estimate(1, 2, 2), literal=Estimate(0, 0, 1), address_stall=ONE, table_branch=exactly(3),
    cycles={**_V7M, **_FPV4},
)  # fmt: skip
_M33 = ScalarTiming(
    source="that of Cortex-M4, with loads of one cycle and a stall behind them",
    refill=_REFILL, refill_call=_REFILL, refill_load=_REFILL,
    load=Estimate(1, 1, 2), load_after_load=ONE, store=ONE, store_register_offset=Estimate(1, 1, 2),
    store_after_load=ONE, store_float=Estimate(1, 1, 2), literal=Estimate(0, 0, 1), address_stall=Estimate(0, 0, 1),
    load_use=Estimate(0, 1, 1), table_branch=exactly(3), cycles={**_V7M, **_FPV4},
)  # fmt: skip


def _v6m(source: str, refill: float, call: float) -> ScalarTiming:
    """With a multiplier that takes one cycle."""
    two = exactly(2)
    return ScalarTiming(
        source, exactly(refill), exactly(call), exactly(call), load=two, load_after_load=two, store=two,
        store_register_offset=two, store_after_load=two,
    )  # fmt: skip


_TWO, _SCALAR = exactly(2), Issue("scalar", ONE, ONE)
_M55 = PipelineTiming(
    source="SLOTHY's and LLVM's models of the core: a vector instruction holds its unit for two cycles",
    issue={
        "vector_interleaved": Issue("memory", _TWO, _TWO),
        "vector_memory": Issue("memory", _TWO, ONE),
        "vector_gather_4": Issue("memory", Estimate(2, 4, 4), ONE),
        "vector_gather_8": Issue("memory", Estimate(4, 4, 8), ONE),
        "vector_gather_16": Issue("memory", Estimate(8, 8, 16), ONE),
        "vector_sum": Issue("multiply", _TWO, Estimate(2, 3, 3)),
        "vector_multiply": Issue("multiply", _TWO, _TWO),
        "vector_float": Issue("multiply", _TWO, Estimate(1, 2, 2)),
        "vector_narrow": Issue("integer", _TWO, Estimate(2, 2, 3)),
        "vector_shift": Issue("integer", _TWO, Estimate(1, 2, 4)),
        "vector": Issue("integer", _TWO, ONE),
        "load": Issue("memory", ONE, _TWO),
        "store": Issue("memory", ONE, ONE),
        "float_divide": Issue("scalar", Estimate(1, 14, 16), _TWO),
        **dict.fromkeys(("float", "float_mac", "float_move", "float_move_pair"), Issue("scalar", ONE, _TWO)),
        "divide": Issue("scalar", Estimate(2, 6, 12), ONE),
        **dict.fromkeys(
            ("multiply", "multiply_add", "long_multiply", "long_multiply_add"), Issue("scalar", ONE, _TWO)
        ),
    },
    other=_SCALAR,
    refill=_REFILL,
    loop_start=Estimate(0, 3, 4),
    words_per_cycle=Estimate(2, 2, 1),
    gather_index=Estimate(0, 4, 4),
    store_load_hazard=Estimate(0, 0, 1),
)  # fmt: skip

TIMINGS: Mapping[str, Timing] = {
    "cortex-m0": _v6m("DDI 0432C 3.3", refill=2, call=3),
    "cortex-m0plus": _v6m("DDI 0484C 3.3", refill=1, call=2),
    "cortex-m3": _M3,
    "cortex-m4": _M4,
    "cortex-m33": _M33,
    "cortex-m55": _M55,
}
"""By the name of the CPU."""
