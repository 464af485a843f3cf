"""What instructions do, and how many run: examples whose results follow from the architecture manual."""

from __future__ import annotations

import pytest

from tests.costs.assembly import Ran, assemble
from tests.tools import needs

pytestmark = needs("arm-none-eabi-gcc")

MEANINGS = [
    # carries and borrows over two words
    ("adds r0, r0, r1\n adc r0, r2, #0", (0xFFFFFFFF, 1, 5), 6),
    ("subs r0, r0, r1\n sbc r0, r2, #0", (0, 1, 5), 4),
    ("rsbs r0, r0, #0", (7,), -7),
    # the carry of a shift, and shifts by a register: 32 and more give zero or the sign
    ("lsrs r0, r0, #3\n mov r0, #0\n adc r0, r0, r0", (4,), 1),
    ("lsl r0, r0, r1", (1, 32), 0),
    ("asr r0, r0, r1", (-8, 200), -1),
    ("asr r0, r0, r1", (-8, 0), -8),
    ("ror r0, r0, r1", (0x12345678, 40), 0x78123456),
    # conditions, with and without an IT block
    ("cmp r0, r1\n ite lt\n movlt r0, #1\n movge r0, #2", (-1, 1), 1),
    ("cmp r0, r1\n ite lo\n movlo r0, #1\n movhs r0, #2", (-1, 1), 2),
    ("cmp r0, #3\n it eq\n moveq r0, #9", (4,), 4),
    # constants
    ("mov r0, #0xAB00AB00", (), 0xAB00AB00),
    ("movw r0, #0x5678\n movt r0, #0x1234", (), 0x12345678),
    ("ldr r0, =0xDEADBEEF", (), 0xDEADBEEF),
    # fields
    ("ubfx r0, r0, #4, #8", (0xABCD,), 0xBC),
    ("sbfx r0, r0, #4, #8", (0xABCD,), 0xBC - 256),
    ("bfi r0, r1, #8, #8", (0x11111111, 0xFF), 0x1111FF11),
    ("bfc r0, #0, #4", (0xFF,), 0xF0),
    ("sxtb r0, r0, ror #8", (0x8000,), -128),
    ("uxtah r0, r0, r1", (1, 0x1FFFF), 0x10000),
    ("rev r0, r0", (0x01020304,), 0x04030201),
    ("clz r0, r0", (0x00100000,), 11),
    # multiplication and division
    ("mla r0, r0, r1, r2", (3, 4, 5), 17),
    ("mls r0, r0, r1, r2", (3, 4, 5), -7),
    ("umull r1, r0, r0, r1", (0x80000000, 4), 2),
    ("smull r1, r0, r0, r1", (-1, 4), -1),
    ("smlal r2, r3, r0, r1\n mov r0, r2", (-2, 3, 10, 0), 4),
    ("sdiv r0, r0, r1", (-7, 2), -3),
    ("udiv r0, r0, r1", (7, 0), 0),
    # two halfwords at once
    ("smlad r0, r0, r1, r2", (0x00020003, 0x00040005, 7), 30),
    ("smuadx r0, r0, r1", (0x00020003, 0x00040005), 22),
    ("smlabt r0, r0, r1, r2", (3, 0x00040000, 1), 13),
    ("smmul r0, r0, r1", (0x40000000, 8), 2),
    ("sxtb16 r0, r0", (0x00FF0080,), 0xFFFFFF80),
    ("pkhbt r0, r0, r1, lsl #16", (0x1111, 0x2222), 0x22221111),
    ("pkhtb r0, r0, r1, asr #16", (0x11110000, 0x22220000), 0x11112222),
    ("ssub16 r0, r0, r1", (0x00010001, 0x00020000), 0xFFFF0001),
    ("qadd16 r0, r0, r1", (0x7FFF8000, 0x0001FFFF), 0x7FFF8000),
    # saturation
    ("ssat r0, #8, r0", (1000,), 127),
    ("ssat r0, #8, r0, asr #2", (-1000,), -128),
    ("usat r0, #8, r0", (-5,), 0),
    ("usat16 r0, #8, r0", (0xFFFF0FFF,), 0x000000FF),
    ("qadd r0, r0, r1", (0x7FFFFFFF, 1), 0x7FFFFFFF),
    # memory
    ("str r0, [sp, #-8]!\n ldrsb r0, [sp, #1]\n add sp, #8", (0x8000,), -128),
    ("push {r0, r1}\n ldr r0, [sp, #4]\n add sp, #8", (1, 2), 2),
    ("push {r0-r3}\n ldrd r1, r0, [sp], #16", (1, 2), 2),
    ("push {r0-r3}\n mov r3, #8\n ldr r0, [sp, r3]\n add sp, #16", (1, 2, 3), 3),
    # floating point
    ("vmov s0, r0\n vcvt.f32.s32 s0, s0\n vmov r0, s0", (3,), 0x40400000),
    ("vmov s0, r0\n vcvt.s32.f32 s0, s0\n vmov r0, s0", (0xC0200000,), -2),
    ("vmov.f32 s0, #1.5\n vmov.f32 s1, #2.0\n vfma.f32 s0, s1, s1\n vmov r0, s0", (), 0x40B00000),
    ("vmov.f32 s0, #1.5\n vmov.f32 s1, #2.0\n vfms.f32 s0, s1, s1\n vmov r0, s0", (), 0xC0200000),
    ("vmov s0, r0\n vmov s1, r1\n vcmp.f32 s0, s1\n vmrs APSR_nzcv, fpscr\n ite vs\n movvs r0, #1\n movvc r0, #0",
     (0x7FC00000, 0), 1),
    ("vmov s0, r0\n vcmp.f32 s0, #0\n cmp r0, r0\n vmrs APSR_nzcv, fpscr\n ite mi\n movmi r0, #1\n movpl r0, #0",
     (0xBF800000,), 1),
]  # fmt: skip


@pytest.mark.parametrize(("code", "arguments", "result"), MEANINGS, ids=lambda value: str(value)[:40])
def test_meaning(code: str, arguments: tuple[int, ...], result: int) -> None:
    ran = Ran(assemble(f"f:\n {code}\n bx lr"), *arguments)
    assert ran.finished
    assert ran.result == result & 0xFFFFFFFF


def test_a_loop_runs_as_often_as_its_counter_says() -> None:
    """Before the loop one instruction, in it two, behind it one."""
    ran = Ran(assemble("f:\n movs r1, #0\n1: subs r0, #1\n bne 1b\n bx lr"), 1000)
    assert ran.instructions == 1 + 2 * 1000 + 1


def test_an_instruction_whose_condition_fails_is_executed() -> None:
    ran = Ran(assemble("f:\n cmp r0, #1\n itt eq\n moveq r1, #1\n moveq r2, #1\n bx lr"), 0)
    assert ran.instructions == 5


def test_calls_and_tail_calls() -> None:
    image = assemble("f:\n push {r4, lr}\n bl g\n pop {r4, lr}\n b.w g\ng:\n adds r0, #1\n bx lr")
    ran = Ran(image, 5)
    assert (ran.result, ran.instructions) == (7, 4 + 2 * 2)


def test_a_table_branch() -> None:
    table = " tbb [pc, r0]\n1: .byte (2f-1b)/2, (3f-1b)/2, (4f-1b)/2, 0\n"
    ways = "2: movs r0, #20\n bx lr\n3: movs r0, #30\n bx lr\n4: movs r0, #40\n bx lr"
    image = assemble(f"f:\n{table}{ways}")
    assert [Ran(image, choice).result for choice in range(3)] == [20, 30, 40]


def test_a_computed_jump_into_unrolled_code() -> None:
    """Each addition is two bytes long; the jump skips those that are not wanted."""
    image = assemble("f:\n movs r1, #0\n rsb r0, r0, #4\n lsls r0, r0, #1\n add pc, r0\n nop\n" + " adds r1, #1\n" * 4 +
                     " mov r0, r1\n bx lr\n.size f, . - f")  # fmt: skip
    assert [Ran(image, count).result for count in (0, 1, 4)] == [0, 1, 4]
    assert Ran(image, 4).instructions - Ran(image, 1).instructions == 3


def test_long_jumps_of_armv6m_are_calls_only_in_name() -> None:
    """GCC reaches far within a function by BL, which has the range."""
    image = assemble("f:\n push {lr}\n bl 1f\n nop\n1: movs r0, #3\n pop {pc}\n.size f, . - f", "cortex-m0plus")
    ran = Ran(image, core="cortex-m0plus")
    assert (ran.result, ran.instructions) == (3, 4)


def test_flags_that_a_function_returns() -> None:
    """As helpers for comparisons do."""
    image = assemble("f:\n push {lr}\n bl g\n ite eq\n moveq r0, #1\n movne r0, #2\n pop {pc}\ng:\n cmp r0, r1\n bx lr")
    assert [Ran(image, 4, other).result for other in (4, 5)] == [1, 2]


def test_hardware_loops() -> None:
    """WLS tests once, LE is executed in each round."""
    code = "f:\n push {lr}\n mov r1, #0\n wls lr, r0, 2f\n1: adds r1, #3\n le lr, 1b\n2: mov r0, r1\n pop {pc}"
    image = assemble(code, "cortex-m55")
    ran = Ran(image, 5, core="cortex-m55")
    assert (ran.result, ran.instructions) == (15, 3 + 5 * 2 + 2)
    assert (Ran(image, 0, core="cortex-m55").result, Ran(image, 0, core="cortex-m55").instructions) == (0, 5)


@pytest.mark.parametrize(("size", "rounds"), [(8, [0, 1, 1, 2, 3]), (16, [0, 1, 2, 3, 5]), (32, [0, 1, 4, 5, 10])])
def test_tail_predicated_loops_take_a_vector_of_elements_a_round(size: int, rounds: list[int]) -> None:
    begin = f"f:\n push {{lr}}\n mov r1, #0\n wlstp.{size} lr, r0, 2f\n"
    image = assemble(f"{begin}1: adds r1, #1\n letp lr, 1b\n2: mov r0, r1\n pop {{pc}}", "cortex-m55")
    assert [Ran(image, elements, core="cortex-m55").result for elements in (0, 1, 16, 17, 40)] == rounds


def test_vector_loads_move_their_base() -> None:
    code = "f:\n mov r1, r0\n vldrb.8 q0, [r1], #16\n vldrw.32 q1, [r1, #8]!\n vstrh.32 q0, [r1], #-8\n subs r0, r1, r0"
    assert Ran(assemble(f"{code}\n bx lr", "cortex-m55"), 4096, core="cortex-m55").result == 16


def test_code_that_does_not_end_is_left() -> None:
    assert not Ran(assemble("f:\n1: b 1b")).finished
