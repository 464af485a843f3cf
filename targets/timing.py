"""Cycles of Cortex-M cores by classes of instructions: estimates at zero wait states, without interrupts.

Tables of the Technical Reference Manuals where there is one: Cortex-M0 DDI 0432C and Cortex-M0+ DDI 0484C (3.3),
Cortex-M3 DDI 0337H and Cortex-M4 DDI 0439B (3.3.1). For Cortex-M7 (DDI 0489F), Cortex-M33 (100230) and Cortex-M55
(101051, "beats" of Helium) Arm prints no table; their rows are what the descriptions of the pipelines let expect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """``cycles`` by class, 1 where a class is not listed.

    ``word``: each further word of a multiple load or store. ``pipelined``: a single load or store right behind another
    one. ``taken``: what a taken branch takes more than one that is not; ``load_pc``: a load of the program counter
    more than of another register. ``overlapped``: a vector instruction behind one of another kind, of memory and
    arithmetic. ``issue`` is how many instructions start in a cycle on average where none takes longer than one.
    ``short_instructions``: there are those of 16 bits only, so that the compiler's helpers take more of them.
    """

    cycles: Mapping[str, float]
    word: float = 1
    pipelined: float = 1
    taken: float = 2
    load_pc: float = 2
    overlapped: float = 1
    issue: float = 1
    short_instructions: bool = False


_M3 = {"load": 2, "multiply": 1, "divide": 7, "store": 1}
_M4 = {**_M3, "float_mac": 3, "float_divide": 14}

TIMINGS: Mapping[str, Timing] = {
    "cortex-m0": Timing({"load": 2, "store": 2}, pipelined=2, taken=2, load_pc=3, short_instructions=True),
    "cortex-m0plus": Timing({"load": 2, "store": 2}, pipelined=2, taken=1, load_pc=2, short_instructions=True),
    "cortex-m3": Timing(_M3),
    "cortex-m4": Timing(_M4),
    "cortex-m7": Timing({"divide": 7, "float_divide": 14}, taken=0.2, load_pc=1, issue=1.5),
    "cortex-m33": Timing({**_M4, "load": 1.5, "divide": 6}, taken=1.5, load_pc=2, issue=1.1),
    "cortex-m55": Timing(
        {"divide": 6, "float_divide": 14, "vector": 2, "vector_memory": 2, "loop_end": 0}, taken=1, load_pc=1, issue=1.1
    ),
    "cortex-m85": Timing(
        {"divide": 6, "float_divide": 14, "vector": 2, "vector_memory": 2, "loop_end": 0}, taken=0.2, load_pc=1,
        issue=1.6,
    ),
}  # fmt: skip
"""By the name of the CPU."""
