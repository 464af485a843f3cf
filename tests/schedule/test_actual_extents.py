"""Loops that run to the extents of a run: what they compute, what they leave out, and what that saves."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from ccml.costs.build import build_c, build_objects
from ccml.costs.measure import measure
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import Range
from ccml.instructions import INSTRUCTIONS
from ccml.ir.extents import cropped
from ccml.ir.loops_text import parse_kernel, print_kernel
from ccml.ir.loops_verify import verify_kernel
from ccml.passes.pipeline import optimize
from ccml.program.actual_extents import Within, clip
from ccml.program.build import lower_graph
from ccml.program.goal import Goal, Optimize
from ccml.program.needed import Limit
from ccml.targets import select

from tests.frontend_onnx.graphs import checked_import, model, value
from tests.frontend_onnx.ranged_models import RANGED, Ranged, make
from tests.tools import needs

ROWS = Within(1, 48, Limit("n", 6))
"""Of 8 rows of 6 elements those before n."""
SEQUENCES = Within(6, 4, Limit("n"))
"""Of two sequences of 4 rows the rows before n of each."""
CLIPPED = {
    "rows": (ROWS, "for a:8, b:6\n    y[a*6+b] = x[a*6+b]", "for a:min(8, convert<index>(extent0[])), b:6"),
    "tiles": (
        ROWS, "for a:2, b:6\n    y[a*24+b] = x[b]\n    y[a*24+b+18] = x[b]",
        "for a:min(2, floordiv(convert<index>(extent0[])+3, 4)), b:6",
    ),
    "remainder": (
        ROWS, "for a:2, b:18\n    y[a*18+b] = x[b]\n  for b:12\n    y[b+36] = x[b]",
        "if 36 < convert<index>(extent0[])*6:",
    ),
    "columns": (ROWS, "for b:6, a:8\n    y[a*6+b] = x[a*6+b]", "for b:6, a:min(8, convert<index>(extent0[]))"),
    "memory": (
        ROWS, "stack s: f32[6]\n  for a:8\n    for b:6\n      s[b] = x[a*6+b]\n    for b:6\n      y[a*6+b] = s[5-b]",
        "for a:min(8, convert<index>(extent0[]))",
    ),
}  # fmt: skip
KEPT = {
    "carried": "stack s: f32[6]\n  for a:8, b:6\n    s[b] = x[a*6+b]\n    y[a*6+b] = s[5-b]",
    "read behind": "stack s: f32[48]\n  for a:8, b:6\n    s[a*6+b] = 1.0f32\n    y[a*6+b] = 2.0f32\n"
    "  for i:48\n    z[i] = s[i]",
    "other results": "for a:8, b:6\n    y[a*6+b] = x[a*6+b]\n    z[a*6+b] = 0.0f32",
    "backwards": "for a:48\n    y[47-a] = x[a]",
    "read again": "for a:8\n    y[a*6] = x[a]\n  for a:8\n    z[a] = y[a*6]",
}


def kernel_of(body: str) -> str:
    return f"\nkernel k(x: f32[48] const, y: f32[48] out, z: f32[48] out)\n  {body}\n"


@pytest.mark.parametrize("name", CLIPPED)
def test_loops_end_with_what_is_needed(name: str) -> None:
    within, before, line = CLIPPED[name]
    found = clip(parse_kernel(kernel_of(before)), {"y": (within,)}, ())
    assert found is not None and found.extents == ("n",)
    verify_kernel(found.kernel, instructions=INSTRUCTIONS)
    assert line in " ".join(print_kernel(found.kernel).split("\n"))


def test_passages_without_rows_that_are_needed_are_left_out() -> None:
    before = "\nkernel k(x: f32[8,6] const, y: f32[8,6] out)\n  for a:8, b:6\n    y[a, b] = x[a, b]\n"
    found = clip(parse_kernel(before), {"y": (SEQUENCES,)}, ())
    assert found is not None
    assert "if (floormod(a, 4) < convert<index>(extent0[])) | (floormod(a, 4) >= 4):" in print_kernel(found.kernel)


@pytest.mark.parametrize("name", KEPT)
def test_loops_that_leave_something_behind_stay(name: str) -> None:
    assert clip(parse_kernel(kernel_of(KEPT[name])), {"y": (ROWS,)}, ()) is None


def spatial() -> Ranged:
    """Convolutions, pools and borders over an image whose height is open, with a residual and a Concat."""
    nodes = [
        make("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]), make("Relu", ["c"], ["r"]),
        make("Conv", ["r", "v"], ["d"], pads=[1, 1, 1, 1]), make("Add", ["d", "r"], ["e"]),
        make("Concat", ["e", "d"], ["j"], axis=1), make("MaxPool", ["j"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    weights = {"w": (8, 3, 3, 3), "v": (8, 8, 3, 3)}
    constants = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in weights.items()}
    proto = model(nodes, [value("x", [1, 3, "h", 10])], ["y"], constants)

    def arrays(n: dict[str, int], rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"x": rng.standard_normal((1, 3, n["h"], 10)).astype(np.float32)}

    return Ranged(proto, {"h": Range(4, 21)}, arrays)


CASES = {**RANGED, "spatial": spatial}


def run_among_garbage(compiled: JitModel, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The results of a run whose memory held ones alone, NaN as numbers, beyond the extents as well."""
    arrays = compiled._bind(feeds)
    for side in compiled.program.inputs:
        if side.name in feeds:
            arrays[side.buffer] = np.array(arrays[side.buffer])
            if side.type.dtype.is_float:
                arrays[side.buffer].reshape(-1)[feeds[side.name].size :] = np.nan
    for pool in compiled._pools:
        pool[...] = 0xFF
    assert compiled._run(*map(ctypes.c_void_p, compiled._pointers(arrays))) == 0
    outputs = {side.name: arrays[side.buffer] for side in compiled.program.outputs}
    given = {side.name: arrays[side.buffer] for side in compiled.program.inputs}
    return cropped(compiled.program.extents, outputs, given)


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_whole_loops(name: str, threads: int) -> None:
    """To the bit, whatever lies beyond the extents."""
    case = CASES[name]()
    graph = optimize(checked_import(case.proto, dims=case.ranges))
    goal = Goal(threads=threads)
    short = JitModel(lower_graph(graph, host_machine(), goal))
    whole = JitModel(replace(lower_graph(replace(graph, extents=()), host_machine(), goal), extents=graph.extents))
    assert name == "gru" or any("to_extent" in kernel.name for kernel in short.program.kernels)
    assert not any("to_extent" in kernel.name for kernel in whole.program.kernels)
    rng = np.random.default_rng(1)
    ranges = [sorted({r.least, (r.least + r.most) // 2, r.most}) for r in case.ranges.values()]
    for numbers in product(*ranges):
        feeds = case.arrays(dict(zip(case.ranges, numbers)), rng)
        wanted = whole.run(feeds)
        for output, found in run_among_garbage(short, feeds).items():
            np.testing.assert_array_equal(found, wanted[output], err_msg=f"{output} {numbers}")


@pytest.mark.parametrize("name", CASES)
def test_memory_is_not_given_for_speed_where_it_is_scarce(name: str) -> None:
    case, machine, goal = CASES[name](), select("cortex-m55"), Goal(optimize=Optimize.RAM)
    graph = optimize(checked_import(case.proto, dims=case.ranges))
    short, whole = (lower_graph(each, machine, goal) for each in (graph, replace(graph, extents=())))
    assert short.plan.ram <= 1.01 * whole.plan.ram and short.extents == graph.extents


def test_loops_as_long_as_memory_says_are_not_replayed() -> None:
    """Their tensors are not laid over each other, on machines whose memory may have it."""
    case = RANGED["gru"]()
    graph = optimize(checked_import(case.proto, dims=case.ranges))
    lower_graph(graph, select("arm64"), Goal(optimize=Optimize.RAM))


@needs("arm-none-eabi-gcc", "qemu-system-arm", "gcc")
@pytest.mark.parametrize("route", [build_c, build_objects])
@pytest.mark.parametrize(("name", "dim", "share"), [("cnn", "n", 0.30), ("spatial", "h", 0.30)])
def test_instructions_follow_the_extent(name: str, dim: str, share: float, route) -> None:  # type: ignore[no-untyped-def]
    """A fourth of the images, and a fifth of the rows, take little more than that share of the instructions."""
    case, machine = CASES[name](), select("cortex-m4")
    program = lower_graph(optimize(checked_import(case.proto, dims=case.ranges)), machine)
    built, rng = route(program, machine), np.random.default_rng(0)
    least, most = (
        measure(program, machine, built, case.arrays({dim: extent}, rng)).instructions
        for extent in (case.ranges[dim].least, case.ranges[dim].most)
    )
    assert least < share * most
