"""The order of calls."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from ccml.ir.loops import Kernel
from ccml.ir.loops_text import parse_kernel
from ccml.ir.program import BufferDecl, Storage
from ccml.ir.steps import Call
from ccml.ir.types import DType
from ccml.memory.layout import plan_memory
from ccml.memory.order import order_calls
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.schedule.chains import Layer, chain

WIDE_FIRST = chain((1, 8, 8, 8), [Layer(32), Layer(32, source=2), Layer(4, source=2), Layer(4, source=2, add=1)])
"""Two wide tensors, of which each is only needed for a narrow one: both are there at a time."""

ONE_BY_ONE = chain((1, 8, 8, 8), [Layer(32), Layer(4), Layer(32, source=3), Layer(4, add=2)])


def test_wide_tensors_one_after_the_other() -> None:
    machine = select("cortex-m4")
    assert lower_graph(WIDE_FIRST, machine).plan.ram == lower_graph(ONE_BY_ONE, machine).plan.ram


def test_only_where_ram_is_scarce() -> None:
    calls = lower_graph(WIDE_FIRST, select("x86")).calls
    assert [call.loc for call in calls if call.loc.startswith("layer")] == ["layer0", "layer1", "layer2", "layer3"]


def program(seed: int) -> tuple[list[Call], dict[str, Kernel], dict[str, BufferDecl]]:
    """Six sums of earlier tensors; kernels that need all of their operands until the end."""
    rng = np.random.default_rng(seed)
    buffers = {"x": BufferDecl("x", DType.U8, (int(rng.integers(1, 60)),), Storage.INPUT)}
    kernels, calls = {}, []
    for n in range(6):
        a, b = rng.choice(list(buffers), 2)
        size, first, second = int(rng.integers(1, 60)), buffers[a].shape[0], buffers[b].shape[0]
        kernels[f"k{n}"] = parse_kernel(f"""kernel k{n}(a: u8[{first}] const, b: u8[{second}] const, y: u8[{size}] out)
  for i:{size}
    y[i] = a[{first - 1}] + b[{second - 1}] + a[0] + b[0]
""")
        buffers[f"t{n}"] = BufferDecl(f"t{n}", DType.U8, (size,), Storage.OUTPUT if n == 5 else Storage.ARENA)
        calls.append(Call(f"k{n}", (str(a), str(b), f"t{n}")))
    return calls, kernels, buffers


def valid(order: tuple[Call, ...]) -> bool:
    """Whether everything is written before it is read."""
    known = {"x"}
    for call in order:
        if not known.issuperset(call.args[:2]):
            return False
        known.add(call.args[2])
    return True


def live(order: tuple[Call, ...], buffers: dict[str, BufferDecl]) -> int:
    """The most bytes that live at a time."""
    most = 0
    for n, call in enumerate(order):
        later = {name for other in order[n:] for name in other.args[:2]}
        begun = {"x", *(other.args[2] for other in order[: n + 1])}
        names = {name for name in begun if name in later or name in (call.args[2], "t5")}
        most = max(most, sum(buffers[name].nbytes for name in names))
    return most


@pytest.mark.parametrize("seed", range(8))
def test_none_is_better(seed: int) -> None:
    calls, kernels, buffers = program(seed)
    found = order_calls(calls, kernels, buffers)
    assert valid(found)
    assert sorted(call.kernel for call in found) == sorted(kernels)
    assert live(found, buffers) == min(live(order, buffers) for order in permutations(calls) if valid(order))
    plan_memory(found, kernels, buffers, select("cortex-m4").target)


def branches(count: int) -> tuple[list[Call], dict[str, Kernel], dict[str, BufferDecl]]:
    """Wide tensors, each made for a narrow result of its own; all wide ones are made first."""
    buffers = {"x": BufferDecl("x", DType.U8, (4,), Storage.INPUT)}
    widen = parse_kernel("kernel widen(x: u8[4] const, y: u8[100] out)\n  for i:100\n    y[i] = x[0]\n")
    narrow = parse_kernel("kernel narrow(x: u8[100] const, y: u8[1] out)\n  y[0] = x[99]\n")
    for n in range(count):
        buffers[f"wide{n}"] = BufferDecl(f"wide{n}", DType.U8, (100,), Storage.ARENA)
        buffers[f"y{n}"] = BufferDecl(f"y{n}", DType.U8, (1,), Storage.OUTPUT)
    calls = [Call("widen", ("x", f"wide{n}")) for n in range(count)]
    calls += [Call("narrow", (f"wide{n}", f"y{n}")) for n in range(count)]
    return calls, {"widen": widen, "narrow": narrow}, buffers


def test_many_branches_go_one_after_the_other() -> None:
    """There are 2^60 sets of finished calls."""
    calls, kernels, buffers = branches(60)
    found = order_calls(calls, kernels, buffers)
    assert sorted(call.args for call in found) == sorted(call.args for call in calls)
    before = plan_memory(tuple(calls), kernels, buffers, select("cortex-m4").target).ram
    assert before > 60 * 100
    assert plan_memory(found, kernels, buffers, select("cortex-m4").target).ram < 2 * 100 + 60 * 16
