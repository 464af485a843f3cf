"""Layers that share kernels: the same bytes with less code."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.blocks import BLOCKS
from ccml.costs.build import build_c
from ccml.emit_c.artifact import write_c
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.emit_llvm.objects import emit_objects
from ccml.emulation import build_and_run
from ccml.instructions import INSTRUCTIONS
from ccml.ir.graph import Graph
from ccml.ir.interpret import run_kernel
from ccml.ir.loops import Kernel
from ccml.ir.loops_text import parse_kernel, print_kernel
from ccml.ir.loops_verify import verify_kernel
from ccml.ir.program import Program
from ccml.ir.specialize import specialized
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.program.sharing.family import General, common
from ccml.program.sharing.form import form
from ccml.program.sharing.share import share_kernels
from ccml.report.sections import allocated_sections
from ccml.targets import Machine, select

from tests.integerize.test_random import RandomGraph as RandomIntegerGraph
from tests.passes.random_graphs import RandomGraph
from tests.schedule.chains import Layer, chain
from tests.schedule.graphs import random_inputs
from tests.schedule.test_staged import with_blocks
from tests.tools import needs

GOALS = {goal.value: Goal(goal) for goal in Optimize}
M4 = select("cortex-m4")
CHAINS = {
    "pointwise": chain((1, 10, 6, 8), [Layer(16, 1), Layer(24, 1), Layer(8, 1), Layer(32, 1)]),
    "depthwise": chain((1, 12, 8, 8), [Layer(0), Layer(0), Layer(16, 1), Layer(0), Layer(0, stride=2), Layer(0)]),
    "3x3": chain((1, 16, 16, 8), [Layer(16), Layer(16, stride=2), Layer(24), Layer(16, stride=2), Layer(16)]),
    "residual": chain((1, 8, 8, 8), [Layer(8), Layer(8, add=2), Layer(16, 1), Layer(16), Layer(16, add=2)]),
}

UNLIKE = {("pointwise", "cortex-m4"), ("pointwise", "cortex-m55"), ("3x3", "cortex-m55"), ("residual", "cortex-m55")}
"""Where hardly any code would be saved."""


def scarce(machine: Machine) -> Machine:
    """``machine``, if its memory were scarce."""
    return replace(machine, target=replace(machine.target, scarce_ram=True, scarce_flash=True))


def assert_means(graph: Graph, program: Program, machine: Machine) -> None:
    """The program in this process gives the bytes of the operators' definitions."""
    x = random_inputs(graph)
    found = JitModel(program, machine).run(x)
    values = evaluate_graph(graph, x)
    for value in graph.outputs:
        assert found[value.name].tobytes() == values[value.name].tobytes()


@pytest.mark.parametrize("goal", ["balanced", "size"])
@pytest.mark.parametrize("name", CHAINS)
def test_same_results_in_this_process(name: str, goal: str) -> None:
    machine = scarce(with_blocks())
    assert_means(CHAINS[name], lower_graph(CHAINS[name], machine, GOALS[goal]), machine)


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus", "cortex-m55"])
@pytest.mark.parametrize("name", CHAINS)
def test_fewer_kernels(name: str, core: str) -> None:
    """With the same calls, that differ in scalars."""
    found = {goal: lower_graph(CHAINS[name], select(core), GOALS[goal]) for goal in ("speed", "balanced", "size")}
    kernels = [len(program.kernels) for program in found.values()]
    assert kernels[0] >= kernels[1] >= kernels[2]
    assert kernels[0] > kernels[2] or (name, core) in UNLIKE
    assert not any(call.scalars for call in found["speed"].calls)
    for program in found.values():
        by_name = {kernel.name: kernel for kernel in program.kernels}
        for call in program.calls:
            assert len(call.scalars) == len(by_name[call.kernel].scalars)
            assert len(call.args) == len(by_name[call.kernel].params)


def test_text_of_shared_kernels() -> None:
    for graph in CHAINS.values():
        for kernel in lower_graph(graph, M4, GOALS["size"]).kernels:
            text = print_kernel(kernel)
            assert parse_kernel(text) == kernel
            assert print_kernel(parse_kernel(text)) == text
            verify_kernel(kernel, scheduled=True, instructions=INSTRUCTIONS, blocks=BLOCKS)


@pytest.mark.parametrize("seed", range(6))
def test_random_float_graphs(seed: int) -> None:
    """Vectors and all: the same operations in the same order."""
    graph = optimize(RandomGraph(seed).grow(10))
    x = random_inputs(graph)
    fast, small = (JitModel(lower_graph(graph, host_machine(), GOALS[goal])).run(x) for goal in ("speed", "size"))
    assert {name: array.tobytes() for name, array in small.items()} == {n: a.tobytes() for n, a in fast.items()}


@pytest.mark.parametrize("seed", range(5))
def test_random_integer_graphs(seed: int) -> None:
    graph = optimize(RandomIntegerGraph(seed).grown(8))
    machine = scarce(with_blocks())
    assert_means(graph, lower_graph(graph, machine, GOALS["size"]), machine)


def test_the_common_kernel_interpreted() -> None:
    """Kernels by text: numbers that differ are scalars, multiples of others are computed."""
    members = [_rows(4, 8), _rows(6, 16), _rows(5, 32)]
    shared = common([General.of(member) for member in members])
    assert len(shared.kernel.scalars) == 2
    rng = np.random.default_rng(1)
    for member, scalars in zip(members, shared.values, strict=True):
        x = rng.integers(-100, 100, member.params[0].shape).astype(np.int8)
        own, one = np.zeros((2, *member.params[1].shape), np.int8)
        run_kernel(member, {"x": x, "y": own}, instructions=INSTRUCTIONS, blocks=BLOCKS)
        run_kernel(shared.kernel, {"x": x, "y": one}, scalars, instructions=INSTRUCTIONS, blocks=BLOCKS)
        np.testing.assert_array_equal(own, one)
        assert own.any()


def _rows(rows: int, columns: int) -> Kernel:
    """Some columns of every other row, four columns on, plus a number."""
    return parse_kernel(f"""\
kernel rows_{rows}(x: i8[{2 * rows},{columns}] const, y: i8[{rows},{columns // 2}] out)
  for r:{rows}, c_{columns}:{columns // 2}
    y[r, c_{columns}] = x[r*2+1, c_{columns}+4] + {rows}i8
""")


def test_kernels_of_another_form_stay_apart() -> None:
    ascending, other = _rows(4, 8), parse_kernel(print_kernel(_rows(4, 8)).replace("+ 4i8", "- 4i8"))
    assert form(ascending, numbers=False) != form(other, numbers=False)
    assert form(ascending, numbers=False) == form(_rows(7, 64), numbers=False)


@pytest.mark.parametrize(("old", "new", "same"), [
    ("c_8", "column", True), ("y", "out", True), ("+ 4i8", "+ 5i8", False), ("x[r*2+1,", "x[r*2+2,", False),
    ("+ 4i8", "+ min(4i8, 4i8)", False), ("for r:4", "parallel r:4", False),
])  # fmt: skip
def test_names_are_no_part_of_a_form_and_numbers_are_where_they_count(old: str, new: str, same: bool) -> None:
    kernel = _rows(4, 8)
    other = parse_kernel(re.sub(rf"(?<!\w){re.escape(old)}", new, print_kernel(kernel)))
    assert (form(kernel, numbers=True) == form(other, numbers=True)) == same


def test_zeros_of_either_sign_are_different_numbers() -> None:
    text = "kernel k(y: f32[1] out)\n  y[0] = {}f32\n"
    plus, minus = (form(parse_kernel(text.format(zero)), numbers=True) for zero in ("0.0", "-0.0"))
    assert plus != minus


def test_scalars_of_blocks_become_scalars_of_kernels() -> None:
    text = """\
kernel k(w: i32[999] const, x: i8[999] const, y: i8[99] out)
  invoke helium_gemm_4x2_i8(&w[0], &x[0], &y[0], 1, 1, 0, {}, 16, {}, 0, -128)
"""
    one, other = (form(parse_kernel(text.format(*pair)), numbers=False) for pair in ((4, 4), (8, 12)))
    assert one == other


def test_specialized() -> None:
    kernel = parse_kernel("""\
kernel copy(x: i8[2] const, y: i8[1] out, n: index, m: index)
  for i:n
    y[i] = x[i*m+n] + convert<i8>(m)
""")
    assert print_kernel(specialized(kernel, (3, 2), (10, 4))) == """\
kernel copy(x: i8[10] const, y: i8[4] out)
  for i:3
    y[i] = x[i*2+3] + 2i8
"""


def test_no_price_is_paid_where_none_is_allowed() -> None:
    program = lower_graph(CHAINS["3x3"], M4, shared=False)
    assert share_kernels(program, 0.0) == program
    assert len(share_kernels(program, None).kernels) < len(program.kernels)


@needs("arm-none-eabi-gcc")
@pytest.mark.parametrize("name", ["depthwise", "3x3"])
def test_less_code(name: str) -> None:
    """As GCC compiles it with the Makefile's options, under which it could copy and inline functions."""
    sizes = [_code_bytes(CHAINS[name], Goal(goal)) for goal in (Optimize.SPEED, Optimize.BALANCED, Optimize.SIZE)]
    assert sizes[0] > sizes[1] > sizes[2]


def _code_bytes(graph: Graph, goal: Goal) -> int:
    """Of all executable sections."""
    objects = build_c(lower_graph(graph, M4, goal), M4).objects
    return sum(section.size for image in objects for section in allocated_sections(image) if section.executable)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("core, route", [("cortex-m4", "c"), ("cortex-m0plus", "llvm"), ("cortex-m55", "c")])
def test_on_boards(core: str, route: str, tmp_path: Path) -> None:
    machine = select(core)
    for name in ("3x3", "depthwise"):
        graph = CHAINS[name]
        folder = tmp_path / name
        folder.mkdir()
        program = lower_graph(graph, machine, GOALS["size"])
        files = [path for path in write_c(program, machine, folder) if path.suffix == ".c"]
        if route == "llvm":
            files = []
            for file, image in emit_objects(program, machine):
                files.append(folder / file)
                files[-1].write_bytes(image)
        x = random_inputs(graph)
        (found,) = build_and_run(program, machine, files, [x], include=folder)
        output = graph.outputs[0].name
        assert found[output].tobytes() == evaluate_graph(graph, x)[output].tobytes()
