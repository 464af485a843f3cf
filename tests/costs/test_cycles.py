"""Cycle estimates against the tables of the reference manuals."""

from __future__ import annotations

import pytest
from ccml.costs.cycles import function_cycles
from ccml.costs.functions import find_functions
from ccml.costs.instruction import Kind
from ccml.costs.predict import object_costs
from ccml.program.build import lower_graph
from ccml.targets import TARGETS, select
from ccml.targets.timing import TIMINGS, Estimate, PipelineTiming, ScalarTiming

from tests.costs.assembly import assemble
from tests.schedule.graphs import integer_conv_graph
from tests.tools import needs

pytestmark = needs("arm-none-eabi-gcc")


def estimates(code: str, core: str, assembled_for: str | None = None) -> list[Estimate]:
    """Those of each instruction, and at the end what the last jump adds where it is taken."""
    image = assemble(f"f:\n {code}", assembled_for or core)
    function = find_functions(image, "f")[image.function("f")]
    found = function_cycles(function, function.blocks, TIMINGS[core])
    last = max(found.own)
    return [*(found.own[address] for address in sorted(found.own)), found.taken.get(last, Estimate(0, 0, 0))]


def cycles(code: str, core: str, assembled_for: str | None = None) -> list[float]:
    return [each.typical for each in estimates(code, core, assembled_for)]


def test_cortex_m4() -> None:
    """DDI 0439B, table 3-1: loads are pipelined, LDM takes 1 + n, a taken branch 1 + P with P = 2 here, SMLAD 1."""
    code = "ldr r1, [r0]\n ldr r2, [r0, #4]\n smlad r3, r1, r2, r3\n ldm r0!, {r1, r2, r4}\n b f"
    assert cycles(code, "cortex-m4") == [2, 1, 1, 4, 1, 2]
    code = "vfma.f32 s0, s1, s2\n vdiv.f32 s0, s1, s2\n sdiv r0, r1\n str r0, [r1]\n bx lr"
    assert cycles(code, "cortex-m4")[:4] == [3, 14, 7, 1]


def test_moves_between_core_and_fpu_take_two_cycles_on_cortex_m4() -> None:
    """DDI 0439B, 7.2.3, for one register and for two."""
    code = "vmov s0, r1\n vmov r1, s0\n vmov r1, r2, s2, s3\n vmov.f32 s4, s5\n bx lr"
    assert cycles(code, "cortex-m4")[:4] == [2, 2, 2, 1]
    assert estimates(code, "cortex-m4")[0] == Estimate(1, 2, 2)


def test_neighbours_of_loads_and_stores_on_cortex_m4() -> None:
    """DDI 0439B, 3.3.3: a load behind a load whose result is its address waits, so does one whose address was computed
    right before; nothing is pipelined behind a store."""
    code = "ldr r1, [r0]\n ldr r2, [r1]\n adds r0, #4\n ldr r2, [r0]\n str r2, [r0, r1]\n ldr r2, [r0]\n bx lr"
    assert cycles(code, "cortex-m4")[:6] == [2, 2, 1, 3, 1, 2]
    assert cycles("str r2, [r0, r1]\n bx lr", "cortex-m4")[:1] == [2]


def test_cortex_m3_multiplies() -> None:
    """DDI 0337I, table 3-1: MUL 1, MLA and MLS 2, SMULL 3 to 5, SMLAL 4 to 7."""
    code = "mul r0, r1, r2\n mla r0, r1, r2, r3\n mls r0, r1, r2, r3\n smull r0, r1, r2, r3\n smlal r0, r1, r2, r3"
    assert estimates(f"{code}\n bx lr", "cortex-m3")[:5] == [
        Estimate(1, 1, 1), Estimate(2, 2, 2), Estimate(2, 2, 2), Estimate(3, 4, 5), Estimate(4, 5, 7)
    ]  # fmt: skip


def test_cortex_m0plus() -> None:
    """DDI 0484C, table 3-1: LDR and STR 2, not pipelined; MULS 1; a taken branch 2."""
    code = "ldr r1, [r0]\n ldr r2, [r0, #4]\n muls r1, r2\n str r1, [r0]\n b f"
    assert cycles(code, "cortex-m0plus") == [2, 2, 1, 2, 1, 1]


def test_helium_units_work_side_by_side() -> None:
    """Each instruction holds its unit for two cycles; one for another unit issues a cycle later."""
    code = "vldrb.8 q0, [r0], #16\n vmladava.s8 r2, q0, q1\n vldrb.8 q1, [r0], #16\n vldrb.8 q2, [r0], #16\n bx lr"
    assert cycles(code, "cortex-m55")[:4] == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("first", "second", "passed"),
    [
        ("vmul.i32 q0, q1, q2", "vadd.i32 q3, q0, q1", 2),  # another unit, but its operand takes two cycles
        ("vadd.i32 q0, q1, q2", "vmul.i32 q3, q0, q1", 1),
        ("vadd.i32 q0, q1, q2", "vshl.i32 q3, q4, #2", 2),  # one unit
        ("vmladava.s8 r0, q1, q2", "adds r0, r0, r1", 3),
        ("vldrw.u32 q0, [r0, q1]", "vldrb.8 q2, [r1]", 4),  # a gather of four
        ("vldrb.u8 q0, [r0, q1]", "vldrb.8 q2, [r1]", 8),
        ("vcvt.f32.s32 q0, q1", "vmul.f32 q2, q0, q3", 2),
        ("vdup.8 q0, r1", "veor q1, q1, q0", 2),
        ("ldr r1, [r0]", "adds r1, r1, r2", 2),
    ],
)
def test_what_depends_on_helium_waits(first: str, second: str, passed: float) -> None:
    assert cycles(f"{first}\n {second}\n bx lr", "cortex-m55")[1] == passed


def test_a_low_overhead_loop_begins_again_with_busy_units() -> None:
    """The jump costs but the first time; two loads in a row take four cycles in every pass."""
    code = "dls lr, r2\n1: vldrb.8 q0, [r0], #16\n vldrb.8 q1, [r0], #16\n le lr, 1b\n bx lr"
    image = assemble(f"f:\n {code}", "cortex-m55")
    function = find_functions(image, "f")[image.function("f")]
    found = function_cycles(function, function.blocks, TIMINGS["cortex-m55"])
    first, second, jump = sorted(found.own)[1:4]
    again = found.own[jump].typical + found.taken[jump].typical
    assert found.own[first].typical + found.own[second].typical + again == 4


def test_every_core_has_a_row_or_no_cycles() -> None:
    cores = {cpu.name for target in TARGETS for abi in target.abis for cpu in abi.cpus if "cortex-m" in cpu.name}
    assert cores - set(TIMINGS) == {"cortex-m7", "cortex-m85"}
    kinds = {kind.value for kind in Kind}
    for timing in TIMINGS.values():
        assert set(timing.issue if isinstance(timing, PipelineTiming) else timing.cycles) <= kinds


def test_without_a_table_instructions_are_told_and_no_cycles() -> None:
    machine = select("cortex-m7")
    costs = object_costs(lower_graph(integer_conv_graph((1, 4, 4, 4), (4, 1, 1, 4)), machine), machine)
    assert costs is not None
    assert costs.instructions > 0
    assert costs.cycles is None


@pytest.mark.parametrize("core", sorted(TIMINGS))
def test_estimates_are_ordered(core: str) -> None:
    code = "movs r0, #1\n ldr r1, [r0]\n muls r0, r1\n str r0, [r1]\n pop {r4, pc}"
    for low, typical, high in estimates(code, core, "cortex-m0plus"):
        assert 0 <= low <= typical <= high
    assert isinstance(TIMINGS[core], ScalarTiming | PipelineTiming)
