"""The checker that trusts nobody: faults put into plans are found."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from ccml.errors import CcmlError
from ccml.ir.loops import Kernel
from ccml.ir.loops_text import parse_kernel
from ccml.ir.program import BufferDecl, Interface, MemoryPlan, Pool, Program, Storage
from ccml.ir.steps import Call
from ccml.ir.types import DType, TensorType
from ccml.memory.check import check_plan
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.memory.test_overlap import KERNELS
from tests.schedule.graphs import integer_conv_graph

COPY = """
kernel copy(x: u8[16] const, y: u8[16] out)
  for i:16
    y[i] = x[i]
"""
SHIFTED = """
kernel copy(x: u8[16] const, y: u8[16] out)
  for i:16
    y[i] = x[min(i + 1, 15)] + x[max(i - 1, 0)]
"""


def copies(offsets: dict[str, int], size: int, kernel: str = COPY, whole: int = 0) -> Program:
    """in -> a -> b -> c -> out, each call a copy of 16 bytes, under a given plan."""
    storage = {"in": Storage.INPUT, "out": Storage.OUTPUT}
    names = ["in", "a", "b", "c", "out"]
    buffers = {n: BufferDecl(n, DType.U8, (16,), storage.get(n, Storage.ARENA)) for n in names}
    calls = tuple(Call("copy", pair) for pair in pairwise(names))
    sides = [Interface(name, name, TensorType(DType.U8, (16,)), name) for name in ("in", "out")]
    plan = MemoryPlan((Pool("arena", offsets, size, 16, whole),))
    return Program("m", "generic", (sides[0],), (sides[1],), buffers, {}, (parse_kernel(kernel),), calls, plan)


def test_a_sound_plan() -> None:
    check_plan(copies({"a": 0, "b": 16, "c": 0}, 32))


def test_copies_in_place() -> None:
    check_plan(copies({"a": 0, "b": 0, "c": 0}, 16))
    check_plan(copies({"in": 0, "a": 0, "b": 0, "c": 0, "out": 0}, 16, whole=16))


@pytest.mark.parametrize(
    ("offsets", "size", "complaint"),
    [
        ({"a": 0, "b": 4, "c": 32}, 48, r"read as a part of x"),
        ({"a": 0, "b": 16, "c": 32}, 32, "32..48"),
        ({"a": -16, "b": 16, "c": 0}, 32, "-16..0"),
        ({"a": 0, "b": 16, "c": 0, "in": 24}, 32, "in lies at 24..40 of 0"),
    ],
)
def test_faults(offsets: dict[str, int], size: int, complaint: str) -> None:
    with pytest.raises(CcmlError, match=complaint):
        check_plan(copies(offsets, size))


@pytest.mark.parametrize(("b", "sound"), [(16, True), (0, True), (1, True), (2, False), (5, False)])
def test_how_far_a_stencil_may_overlap(b: int, sound: bool) -> None:
    """It reads one byte behind what it has written: its result must begin a byte before its operand."""
    program = copies({"a": 2, "b": b if b < 16 else 18, "c": 40}, 64, SHIFTED)
    if sound:
        check_plan(program)
    else:
        with pytest.raises(CcmlError, match="overlap too far"):
            check_plan(program)


def test_a_tensor_was_overwritten() -> None:
    program = copies({"a": 0, "b": 16, "c": 0}, 32)
    with pytest.raises(CcmlError, match="belongs to c"):
        check_plan(replace(program, body=(*program.body, Call("copy", ("a", "out")))))


def test_an_input_was_overwritten() -> None:
    program = copies({"in": 0, "a": 16, "b": 0, "c": 16, "out": 32}, 32, whole=48)
    check_plan(program)
    with pytest.raises(CcmlError, match="belongs to b"):
        check_plan(replace(program, body=(*program.body[:3], Call("copy", ("in", "out")))))


def test_an_output_was_overwritten() -> None:
    program = copies({"a": 0, "b": 16, "c": 32, "out": 48}, 48, whole=64)
    check_plan(program)
    with pytest.raises(CcmlError, match="the caller reads out, but byte 48 of arena belongs to c"):
        check_plan(replace(program, body=(*program.body, Call("copy", ("a", "c"))), plan=MemoryPlan((
            Pool("arena", {"a": 0, "b": 16, "c": 48, "out": 48}, 64, 16, 64),))))  # fmt: skip


def test_misaligned_tensors() -> None:
    text = COPY.replace("u8[16] const", "u8[16] const align 8")
    with pytest.raises(CcmlError, match="a is misaligned at 4"):
        check_plan(copies({"a": 4, "b": 32, "c": 16}, 48, text))


def in_one_call(kernel: Kernel, distance: int) -> Program:
    """``kernel`` between an input x and an output y that begins ``distance`` bytes before it."""
    storage = {"x": Storage.INPUT, "y": Storage.OUTPUT, "z": Storage.INPUT}
    decls = {
        p.name: BufferDecl(p.name, p.dtype, p.shape, storage.get(p.name, Storage.ARENA)) for p in kernel.params
    }
    sides = {n: Interface(n, n, TensorType(d.dtype, d.shape), n) for n, d in decls.items()}
    offsets = {"x": 1024, "y": 1024 - distance, "z": 2048, "pair": 2560}
    plan = MemoryPlan((Pool("arena", {n: offsets[n] for n in decls}, 4096, 16, 4096),))
    inputs = tuple(side for n, side in sides.items() if storage.get(n) is Storage.INPUT)
    call = Call(kernel.name, tuple(p.name for p in kernel.params))
    return Program("m", "generic", inputs, (sides["y"],), decls, {}, (kernel,), (call,), plan)


@pytest.mark.parametrize(
    ("name", "least"),
    [("copy", 0), ("vectors", 0), ("masked", 0), ("stencil", 0), ("centred", 3), ("halved", -1), ("doubled", 12),
     ("backwards", 24), ("filled_first", 36), ("branches", 3), ("chosen", 3), ("looked_up", 23),
     ("looked_up_in_rows", 13)],
)  # fmt: skip
def test_one_byte_too_near(name: str, least: int) -> None:
    check_plan(in_one_call(KERNELS[name], least))
    with pytest.raises(CcmlError, match="overlap too far"):
        check_plan(in_one_call(KERNELS[name], least - 1))


def test_plans_of_the_compiler_leave_no_room() -> None:
    """Every tensor of a planned program that overlaps another one moved a little: refused."""
    graph = integer_conv_graph((1, 8, 8, 16), (16, 3, 3, 16), pad=(1, 1, 1, 1))
    program = lower_graph(graph, select("cortex-m4"))
    check_plan(program)
    (pool,) = program.plan.pools
    offsets = dict(pool.offsets)
    x, y = program.inputs[0].buffer, program.outputs[0].buffer
    assert abs(offsets[x] - offsets[y]) < np.prod(program.buffers[y].shape)
    with pytest.raises(CcmlError):
        check_plan(replace(program, plan=MemoryPlan((replace(pool, offsets=offsets | {y: offsets[y] + 32}),))))
