"""Each invariant of programs: a program that breaks it alone is refused by its number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from ccml.errors import CcmlError
from ccml.ir.program import MemoryPlan, Pool, Program, Storage
from ccml.ir.program_verify import verify_program
from ccml.ir.types import DType

from tests.emit_llvm.programs import scale_and_shift

PROGRAM, _ = scale_and_shift()
Change = Callable[[Program], Program]


def with_buffer(program: Program, buffer: str, **changes: object) -> Program:
    changed = replace(program.buffers[buffer], **changes)
    return replace(program, buffers={**program.buffers, buffer: changed})


def with_call(program: Program, number: int, **changes: object) -> Program:
    body = list(program.body)
    body[number] = replace(body[number], **changes)
    return replace(program, body=tuple(body))


BROKEN: dict[str, tuple[int, Change]] = {
    "two kernels of one name": (1, lambda p: replace(p, kernels=(*p.kernels, p.kernels[0]))),
    "a declaration under another name": (1, lambda p: with_buffer(p, "t", name="other")),
    "an unknown kernel": (2, lambda p: with_call(p, 0, kernel="nothing")),
    "a kernel that is not called": (2, lambda p: replace(p, kernels=(*p.kernels, replace(p.kernels[0], name="idle")))),
    "too few arguments": (3, lambda p: with_call(p, 0, args=p.calls[0].args[1:])),
    "an unknown argument": (3, lambda p: with_call(p, 0, args=("nothing", *p.calls[0].args[1:]))),
    "another element type": (3, lambda p: with_buffer(p, "t", dtype=DType.F16)),
    "another size": (3, lambda p: with_buffer(p, "t", shape=(1,))),
    "a scalar too many": (3, lambda p: with_call(p, 0, scalars=(1,))),
    "a constant that is written": (
        4,
        lambda p: replace(
            with_buffer(p, "t", storage=Storage.CONSTANT),
            constants={**p.constants, "t": np.zeros(p.buffers["t"].shape, np.float32)},
        ),
    ),
    "a constant without contents": (5, lambda p: replace(p, constants={})),
    "a tensor without a place": (6, lambda p: replace(p, plan=MemoryPlan((Pool("arena", {}, 0, 16),)))),
    "a tensor in two pools": (
        6, lambda p: replace(p, plan=MemoryPlan((*p.plan.pools, replace(p.plan.pools[0], name="b"))))
    ),
    "a tap of nothing": (7, lambda p: replace(p, taps={"value": "nothing"})),
    "an output without a buffer": (7, lambda p: replace(p, outputs=(replace(p.outputs[0], buffer="nothing"),))),
}


def test_a_sound_program_passes() -> None:
    verify_program(PROGRAM)
    verify_program(replace(PROGRAM, plan=MemoryPlan(())))


@pytest.mark.parametrize("name", BROKEN)
def test_broken_invariant(name: str) -> None:
    number, change = BROKEN[name]
    with pytest.raises(CcmlError, match=f"invariant {number} of programs"):
        verify_program(change(PROGRAM))
