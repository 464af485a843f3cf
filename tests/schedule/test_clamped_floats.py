"""Floats clamped by constants: one instruction a bound where the core has it, and NaN stays NaN."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.types import DType, TensorType
from ccml.ops.table import infer_types
from ccml.passes.fuse import fuse
from ccml.program.build import lower_graph

from tests.artifacts.machines import ARM64_LINUX, GENERIC, NATIVE
from tests.schedule.assembly import by_llvm
from tests.schedule.block_cases import Route, by_c, by_objects, in_process
from tests.tools import needs

COUNT = 67


def clipped(lo: float, hi: float, count: int = COUNT) -> Graph:
    builder = GraphBuilder(infer_types, NameSupply(["x"]))
    x = Value("x", TensorType(DType.F32, (count,)))
    return fuse(Graph("g", (x,), (builder.emit1("clip", x, lo=lo, hi=hi),), tuple(builder.nodes), builder.constants))


def test_a_bound_is_one_instruction(tmp_path: Path) -> None:
    text = by_llvm(lower_graph(clipped(0.0, 6.0, 64), ARM64_LINUX), ARM64_LINUX, tmp_path)
    assert re.search(r"\bfmax\s+v", text) and re.search(r"\bfmin\s+v", text)
    assert not re.search(r"\bfcm\w+\s+v", text)


@pytest.mark.parametrize(
    "route",
    [
        pytest.param(in_process, id="here"),
        pytest.param(by_c, id="c", marks=needs("gcc")),
        pytest.param(by_objects, id="arm64", marks=needs("aarch64-linux-gnu-gcc", "qemu-aarch64")),
    ],
)
@pytest.mark.parametrize(("lo", "hi"), [(0.0, 6.0), (-1.5, 0.0), (-np.inf, 2.0)])
def test_special_values(route: Route, lo: float, hi: float, tmp_path: Path) -> None:
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -1e-45, 6.0, np.nextafter(6, 7)], "f4")
    x = np.resize(np.concatenate([special, np.linspace(-9, 9, 23, dtype="f4")]), COUNT)
    graph, machine = clipped(lo, hi), NATIVE if route is in_process else GENERIC
    if route is by_objects:
        machine = ARM64_LINUX
    found = route(lower_graph(graph, machine), machine, {"x": x}, tmp_path)[graph.outputs[0].name]
    np.testing.assert_array_equal(found, np.clip(x, lo, hi))
