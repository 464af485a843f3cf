"""Cycle estimates against the tables of the reference manuals."""

from __future__ import annotations

import pytest
from ccml.costs.cycles import instruction_cycles, taken_cycles
from ccml.costs.functions import find_functions
from ccml.costs.instruction import Kind
from ccml.targets import TARGETS
from ccml.targets.timing import TIMINGS

from tests.costs.assembly import assemble
from tests.tools import needs

pytestmark = needs("arm-none-eabi-gcc")


def cycles(code: str, core: str, assembled_for: str | None = None) -> list[float]:
    """Those of the first block, and at its end those of its jump where it is taken."""
    image = assemble(f"f:\n {code}", assembled_for or core)
    block = find_functions(image, "f")[image.function("f")].blocks[image.function("f")]
    return [*instruction_cycles(block, TIMINGS[core]), taken_cycles(block[-1], TIMINGS[core])]


def test_cortex_m4() -> None:
    """DDI 0439B, table 3-1: loads are pipelined, LDM takes 1 + n, a taken branch 1 + P with P = 2 here, SMLAD 1."""
    code = "ldr r1, [r0]\n ldr r2, [r0, #4]\n smlad r3, r1, r2, r3\n ldm r0!, {r1, r2, r4}\n b f"
    assert cycles(code, "cortex-m4") == [2, 1, 1, 4, 1, 2]
    code = "vfma.f32 s0, s1, s2\n vdiv.f32 s0, s1, s2\n sdiv r0, r1\n str r0, [r1]\n bx lr"
    assert cycles(code, "cortex-m4")[:4] == [3, 14, 7, 1]


def test_cortex_m0plus() -> None:
    """DDI 0484C, table 3-1: LDR and STR 2, not pipelined; MULS 1; a taken branch 2."""
    code = "ldr r1, [r0]\n ldr r2, [r0, #4]\n muls r1, r2\n str r1, [r0]\n b f"
    assert cycles(code, "cortex-m0plus") == [2, 2, 1, 2, 1, 1]


def test_helium_overlaps_memory_and_arithmetic() -> None:
    """Each takes two cycles; what follows of the other kind starts a cycle later."""
    code = "vldrb.8 q0, [r0], #16\n vmladava.s8 r2, q0, q1\n vldrb.8 q1, [r0], #16\n vldrb.8 q2, [r0], #16\n bx lr"
    assert cycles(code, "cortex-m55")[:4] == [2, 1, 1, 2]


def test_every_core_has_a_row_that_names_classes() -> None:
    cores = {cpu.name for target in TARGETS for abi in target.abis for cpu in abi.cpus if "cortex-m" in cpu.name}
    assert set(TIMINGS) == cores
    assert {name for timing in TIMINGS.values() for name in timing.cycles} <= {kind.value for kind in Kind}


@pytest.mark.parametrize("core", sorted(TIMINGS))
def test_nothing_is_faster_than_the_core_can_issue(core: str) -> None:
    code = "movs r0, #1\n adds r0, r0\n muls r0, r1\n bx lr"
    assert min(cycles(code, core, "cortex-m0plus")[:3]) >= 1 / TIMINGS[core].issue
