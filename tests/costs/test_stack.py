"""Stack bytes from code."""

from __future__ import annotations

import pytest
from ccml.costs.functions import find_functions
from ccml.costs.stack import stack_bytes

from tests.costs.assembly import assemble
from tests.tools import needs

pytestmark = needs("arm-none-eabi-gcc")


def bound(code: str, core: str = "cortex-m4") -> int | None:
    image = assemble(code, core)
    return stack_bytes(find_functions(image, "f"), image.function("f"), image.memory)


FRAMES = [
    ("nothing", "bx lr", 0),
    ("registers", "push {r4-r7, lr}\n pop {r4-r7, pc}", 20),
    ("locals", "push {r4, lr}\n sub sp, #24\n add sp, #24\n pop {r4, pc}", 32),
    ("floats", "vpush {s16-s19}\n vpop {s16-s19}\n bx lr", 16),
    ("a float register of the same number", "push {r4, lr}\n vmov.f32 s13, s1\n vmul.f32 s13, s13\n pop {r4, pc}", 8),
    ("a store before", "str lr, [sp, #-8]!\n ldr pc, [sp], #8", 8),
    ("the deeper of two ways", "cbz r0, 1f\n push {r4-r7}\n pop {r4-r7}\n bx lr\n1: push {r4}\n pop {r4}\n bx lr", 16),
    ("in a loop, once", "1: push {r4, r5}\n pop {r4, r5}\n subs r0, #1\n bne 1b\n bx lr", 8),
]


@pytest.mark.parametrize(("code", "size"), [case[1:] for case in FRAMES], ids=[case[0] for case in FRAMES])
def test_frames(code: str, size: int) -> None:
    assert bound(f"f:\n {code}") == size


def test_a_frame_that_armv6m_adds_from_a_register() -> None:
    code = "f:\n push {r4, lr}\n ldr r4, =-520\n add sp, r4\n movs r4, #130\n lsls r4, r4, #2\n add sp, r4\n"
    assert bound(f"{code} pop {{r4, pc}}", "cortex-m0plus") == 528


def test_an_aligned_frame_counts_what_aligning_may_take() -> None:
    """The stack pointer is a multiple of 8 at a call, so that 16 bytes of alignment take 8 at most."""
    code = "f:\n push {r4, r6, r7, lr}\n add r7, sp, #8\n sub.w r4, sp, #32\n bfc r4, #0, #4\n mov sp, r4\n"
    assert bound(code + " sub.w r4, r7, #8\n mov sp, r4\n pop {r4, r6, r7, pc}") == 16 + 32 + 8


def test_the_deepest_chain_of_calls_counts() -> None:
    code = "f:\n push {r4, lr}\n bl g\n sub sp, #100\n bl h\n add sp, #100\n pop {r4, pc}\n"
    assert bound(code + "g:\n sub sp, #80\n add sp, #80\n bx lr\nh:\n push {r4}\n pop {r4}\n bx lr") == 8 + 100 + 4


def test_a_conditional_return_leaves_the_frame_to_the_other_way() -> None:
    code = "f:\n push {r4, lr}\n sub sp, #8\n cmp r0, #0\n itt eq\n addeq sp, #8\n popeq {r4, pc}\n bl g\n"
    assert bound(code + " add sp, #8\n pop {r4, pc}\ng:\n push {r4-r7}\n pop {r4-r7}\n bx lr") == 16 + 16


def test_a_tail_call_has_left_its_frame() -> None:
    assert bound("f:\n push {r4, lr}\n pop {r4, lr}\n b.w g\ng:\n push {r4-r7}\n pop {r4-r7}\n bx lr") == 16


def test_what_is_not_understood_has_no_bound() -> None:
    assert bound("f:\n mov r1, sp\n sub r1, r1, r0\n mov sp, r1\n bx lr") is None
    assert bound("f:\n push {lr}\n bl f\n pop {pc}") is None
