"""Which parameters may be called restrict."""

from __future__ import annotations

from dataclasses import replace

from ccml.ir.aliasing import disjoint_params
from ccml.ir.program import BufferDecl, MemoryPlan, Pool, Program, Storage
from ccml.ir.steps import Call
from ccml.ir.types import DType

from tests.emit_llvm.programs import kernel

ADD = """
    kernel add(a: f32[4] const, b: f32[4] const, c: f32[4] out)
      for i:4
        c[i] = a[i] + b[i]
"""


def program(offsets: dict[str, int], *calls: tuple[str, ...]) -> Program:
    buffers = {name: BufferDecl(name, DType.F32, (4,), Storage.ARENA) for name in offsets}
    buffers["x"] = BufferDecl("x", DType.F32, (4,), Storage.INPUT)
    buffers["y"] = BufferDecl("y", DType.F32, (4,), Storage.OUTPUT)
    buffers["w"] = BufferDecl("w", DType.F32, (4,), Storage.CONSTANT)
    called = tuple(Call("add", args) for args in calls)
    plan = MemoryPlan((Pool("arena", offsets, 64, 16),))
    return Program("m", "x86", (), (), buffers, {}, (kernel(ADD),), called, plan)


def test_separate_memory() -> None:
    assert disjoint_params(program({"t": 0, "u": 16}, ("t", "w", "u"), ("x", "u", "y"))) == {"add": frozenset("abc")}


def test_in_place_in_one_call_counts_for_all() -> None:
    assert disjoint_params(program({"t": 0, "u": 8}, ("x", "w", "y"), ("t", "w", "u"))) == {"add": frozenset("b")}


def test_neighbours_do_not_overlap() -> None:
    assert disjoint_params(program({"t": 16, "u": 0, "v": 32}, ("u", "v", "t"))) == {"add": frozenset("abc")}


def test_the_same_tensor_read_twice_is_fine() -> None:
    assert disjoint_params(program({"t": 0}, ("x", "x", "t"))) == {"add": frozenset("abc")}


def test_empty_tensors_overlap_nothing() -> None:
    made = program({"t": 0, "u": 0}, ("t", "w", "u"))
    empty = replace(made.buffers["t"], shape=(0, 4))
    made = replace(made, buffers={**made.buffers, "t": empty})
    assert disjoint_params(made) == {"add": frozenset("abc")}


def test_tensors_of_the_caller_may_be_at_their_offsets() -> None:
    made = program({"t": 0, "u": 16, "x": 8, "y": 32}, ("x", "w", "t"), ("u", "w", "y"))
    assert disjoint_params(made) == {"add": frozenset("b")}


def test_kernels_that_are_never_called() -> None:
    assert disjoint_params(program({})) == {"add": frozenset("abc")}
