"""Streams of layers: the same results from less memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.blocks import BLOCKS
from ccml.driver import compile_source, import_source
from ccml.emit_c.artifact import write_c
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.emit_llvm.objects import emit_objects
from ccml.emulation import Build, build_and_run
from ccml.errors import CcmlError, ErrorCode
from ccml.instructions import INSTRUCTIONS
from ccml.ir.graph import Graph
from ccml.ir.interpret import run_kernel
from ccml.ir.loops import Access, For
from ccml.ir.program import Program, Storage
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.program.streams.streaming import Stream, stream
from ccml.targets import Machine, select
from onnx import TensorProto, helper

from tests.artifacts.machines import machine_id
from tests.schedule.chains import LARGE, SMALL, Layer, chain, random_chain
from tests.schedule.graphs import random_inputs
from tests.schedule.test_staged import with_blocks
from tests.tools import needs

M4, M55 = select("cortex-m4"), select("cortex-m55")
IN_ROWS = replace(M4, cpu=replace(M4.cpu, in_rows=True))
RAM = Goal(Optimize.RAM)
APART = Goal(Optimize.SPEED)
"""Kernels without scalars, which can be streamed."""


def streamed(program: Program) -> Stream | None:
    """One stream of all calls."""
    return stream(program.calls, {kernel.name: kernel for kernel in program.kernels}, program.buffers, ())


def assert_same_bytes(graph: Graph, program: Program, found: Stream) -> None:
    """The stream, interpreted on memory full of nonsense, gives what the operators mean."""
    x = random_inputs(graph)
    memory = {**program.constants, **x}
    for name, decl in (program.buffers | found.rings).items():
        if name not in memory:
            memory[name] = np.full(decl.shape, 77, decl.dtype.numpy)
    arrays = {p.name: memory[n] for p, n in zip(found.kernel.params, found.call.args, strict=True)}
    run_kernel(found.kernel, arrays, instructions=INSTRUCTIONS, blocks=BLOCKS)
    for value in graph.outputs:
        assert memory[value.name].tobytes() == evaluate_graph(graph, x)[value.name].tobytes()


HELIUM = {
    "residual": SMALL["residual"],
    "downsampling": SMALL["downsampling"],
    "depthwise": chain((1, 14, 5, 8), [Layer(0), Layer(0, kernel=5), Layer(0, stride=2)]),
}


@pytest.mark.check
@pytest.mark.parametrize(
    ("machine", "graph"),
    [
        *(pytest.param(M4, graph, id=f"{name}-m4") for name, graph in SMALL.items()),
        *(pytest.param(M55, graph, id=f"{name}-m55") for name, graph in HELIUM.items()),
    ],
)
def test_same_results(machine: Machine, graph: Graph) -> None:
    program = lower_graph(graph, machine, APART)
    found = streamed(program)
    assert found is not None
    assert found.sound
    assert_same_bytes(graph, program, found)


def test_random_chains() -> None:
    count = 0
    for seed in range(12):
        graph = random_chain(seed)
        program = lower_graph(graph, IN_ROWS, APART)
        found = streamed(program)
        if found is not None:
            count += 1
            assert_same_bytes(graph, program, found)
    assert count >= 8


@pytest.mark.parametrize("seed", range(12, 24))
def test_random_chains_in_this_process(seed: int) -> None:
    """Streamed or not, wherever the plan puts the tensors."""
    graph = random_chain(seed)
    machine = with_blocks()
    for goal in (Goal(), RAM):
        sharing = replace(machine, target=replace(machine.target, scarce_ram=True))
        x = random_inputs(graph)
        found = JitModel(lower_graph(graph, sharing, goal)).run(x)
        assert found[graph.outputs[0].name].tobytes() == evaluate_graph(graph, x)[graph.outputs[0].name].tobytes()


def test_rows_that_a_convolution_needs() -> None:
    """Three rows for 3x3, and the row of the shortcut that is added at once."""
    row = 12 * 16
    for name, rows in (("residual", {"t0": 3 * row}), ("downsampling", {"t0": 3 * row, "t1": row})):
        found = streamed(lower_graph(LARGE[name], M4, shared=False))
        assert found is not None
        assert {tensor: decl.nbytes for tensor, decl in found.rings.items()} == rows


def test_nothing_is_computed_twice() -> None:
    """Each stage runs each of its rows once: so many as its own kernel has."""
    program = lower_graph(LARGE["separable"], M4, APART)
    found = streamed(program)
    assert found is not None
    assert found.call.macs == sum(call.macs for call in program.calls)
    outer = [kernel.body[-1] for call in program.calls for kernel in program.kernels if kernel.name == call.kernel]
    assert all(isinstance(loop, For) for loop in outer)
    steps = found.kernel.body[-1]
    assert isinstance(steps, For)
    assert len(steps.body) == 2 * len(program.calls)


def test_a_tensor_that_others_use_stays_whole() -> None:
    program = lower_graph(LARGE["separable"], M4, APART)
    kernels = {kernel.name: kernel for kernel in program.kernels}
    kept = {"t1"}
    found = stream(program.calls[:4], kernels, program.buffers, kept | {"t3"})
    assert found is not None
    assert set(found.rings) == {"t0", "t2"}
    access = {p.access for p, name in zip(found.kernel.params, found.call.args, strict=True) if name == "t1"}
    assert access == {Access.WRITE}, "it holds nothing when the call begins"
    assert stream(program.calls[:2], kernels, program.buffers, {"t0", "t1"}) is None


def test_a_scalar_between_layers() -> None:
    """It has no rows, and stays as it is."""
    nodes = [
        helper.make_node("Softmax", ["x"], ["shares"]), helper.make_node("ReduceMax", ["shares"], ["most"], keepdims=0),
        helper.make_node("Div", ["shares", "most"], ["ratios"]), helper.make_node("Softmax", ["ratios"], ["y"]),
    ]  # fmt: skip
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [9, 16]) for name in "xy")
    made = helper.make_model(helper.make_graph(nodes, "scalar", [x], [y]), opset_imports=[helper.make_opsetid("", 18)])
    native = host_machine()
    plain, small = (compile_source(import_source("scalar.onnx", made), native, goal=goal) for goal in (APART, RAM))
    feeds = next(iter(plain.samples(None)))
    found, wanted = (JitModel(each.program, native).run(feeds)["y"] for each in (small, plain))
    np.testing.assert_array_equal(found, wanted)


def test_a_layer_that_needs_all_of_its_operand_ends_a_stream() -> None:
    graph = chain((1, 6, 6, 8), [Layer(8), Layer(4, kernel=9)])
    program = lower_graph(graph, M4, APART)
    kernels = {kernel.name: kernel for kernel in program.kernels}
    assert stream(program.calls, kernels, program.buffers, ()) is None


def test_streams_that_are_not_sound_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often they are among those that would take less memory."""
    monkeypatch.setattr(Stream, "sound", property(lambda self: False))
    graph = LARGE["separable"]
    assert len(lower_graph(graph, M4, RAM).calls) == len(graph.nodes)


@pytest.mark.parametrize("machine", [M4, M55], ids=machine_id)
@pytest.mark.parametrize("name", LARGE)
def test_less_memory(name: str, machine: Machine) -> None:
    assert lower_graph(LARGE[name], machine, RAM).plan.ram < lower_graph(LARGE[name], machine).plan.ram


def test_a_residual_block_takes_one_feature_map_and_a_few_rows() -> None:
    program = lower_graph(LARGE["residual"], M4, RAM)
    row = 12 * 16
    scratch = sum(d.nbytes for n, d in program.buffers.items() if d.storage is Storage.ARENA and n != "t0")
    assert program.plan.ram <= 14 * row + 3 * row + scratch


def test_a_limit_is_kept_with_least_effort() -> None:
    graph = LARGE["separable"]
    plain = lower_graph(graph, M4)
    enough, least = plain.plan.ram, lower_graph(graph, M4, RAM).plan.ram
    assert lower_graph(graph, M4, Goal(max_ram=enough)).calls == plain.calls
    limit = (enough + least) // 2
    between = lower_graph(graph, M4, Goal(max_ram=limit)).plan.ram
    assert least <= between <= limit


def test_a_limit_that_cannot_be_kept() -> None:
    least = lower_graph(LARGE["residual"], M4, RAM).plan.ram
    with pytest.raises(CcmlError, match=f"needs {least:,} bytes of RAM.* 1,000 are allowed") as caught:
        lower_graph(LARGE["residual"], M4, Goal(max_ram=1000))
    assert caught.value.kind is ErrorCode.BUDGET
    assert "t1 (2,688)" in str(caught.value.hint)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("in_arena", [False, True], ids=["apart", "in-arena"])
@pytest.mark.parametrize("route", ["c", "llvm"])
@pytest.mark.parametrize("name", LARGE)
def test_on_a_board(name: str, route: str, in_arena: bool, tmp_path: Path) -> None:
    """Rings and overlapping tensors together, on the bytes of an emulated core."""
    graph = LARGE[name]
    program = lower_graph(graph, M4, RAM)
    x = random_inputs(graph)
    files = [path for path in write_c(program, M4, tmp_path) if path.suffix == ".c"]
    if route == "llvm":
        files = []
        for file, image in emit_objects(program, M4):
            files.append(tmp_path / file)
            files[-1].write_bytes(image)
    found = build_and_run(program, M4, files, [x, x], include=tmp_path, how=Build(in_arena=in_arena))
    expected = evaluate_graph(graph, x)[graph.outputs[0].name]
    assert [result[graph.outputs[0].name].tobytes() for result in found] == [expected.tobytes()] * 2
