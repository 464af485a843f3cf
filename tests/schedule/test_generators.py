"""Kernels of the contraction and depthwise generators, run in process, against the operators' meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from ccml.driver import compile_model
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError
from ccml.ir.graph import Graph
from ccml.ir.loops import For, const_value
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program import lower_nodes
from ccml.program.build import lower_graph
from ccml.schedule import generators
from ccml.schedule.generators import GENERATORS, Generator
from ccml.targets import Machine, select
from pytest import MonkeyPatch

from tests.schedule.graphs import anchored_graph, conv_graph, integer_conv_graph, random_inputs

# Accumulation of k float32 products in another order than the (float64) reference: the error grows with sqrt(k) ulp.
TOLERANCE = 2e-6


def machines() -> list[Machine]:
    """Every x86 level that this machine has, and scalar code."""
    native = host_machine()
    levels = sorted(select("x86").abi.cpus, key=lambda cpu: len(cpu.requires))
    had = set(native.cpu.requires) if native.name == "x86" else set()
    usable = [cpu.name for cpu in levels if had and set(cpu.requires) <= had]
    return [*(select("x86", cpu=name) for name in usable), select("generic"), *([] if usable else [native])]


def relative_error(graph: Graph, machine: Machine) -> float:
    inputs = random_inputs(graph)
    expected = evaluate_graph(graph, inputs)[graph.outputs[0].name]
    actual = JitModel(lower_graph(graph, machine), machine).run(inputs)[graph.outputs[0].name]
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))


CONVS = {
    "plain 3x3": conv_graph((1, 8, 8, 16), (16, 3, 3, 16), pad=(1, 1, 1, 1)),
    "one channel, tall kernel, uneven padding": conv_graph(
        (1, 49, 10, 1), (64, 10, 4, 1), stride=(2, 2), pad=(4, 1, 5, 1)
    ),
    "pointwise": conv_graph((1, 25, 5, 64), (64, 1, 1, 64), epilogue=["relu"]),
    "pointwise with stride": conv_graph((1, 9, 8, 6), (12, 1, 1, 6), stride=(2, 2)),
    "columns that fill no vector": conv_graph((1, 5, 7, 3), (10, 3, 3, 3), bias=False),
    "more columns than a block": conv_graph((1, 4, 4, 8), (83, 3, 3, 8), pad=(1, 1, 1, 1), epilogue=["relu"]),
    "dilation and batch": conv_graph((2, 9, 11, 5), (10, 3, 2, 5), dilation=(2, 2), pad=(2, 1, 2, 1)),
    "groups": conv_graph((1, 7, 9, 12), (10, 3, 3, 6), group=2, pad=(1, 1, 1, 1)),
    "residual and activation": conv_graph((1, 6, 6, 8), (8, 3, 3, 8), pad=(1, 1, 1, 1), epilogue=["add", "relu"]),
    "a long epilogue, more rows and columns than a block": conv_graph(
        (2, 5, 31, 8), (83, 3, 3, 8), pad=(1, 1, 1, 1), epilogue=["erf", "add", "sigmoid"]
    ),
    "a long epilogue of one row": conv_graph((1, 3, 3, 4), (20, 3, 3, 4), epilogue=["erf", "sigmoid"]),
    "padding wider than the kernel needs": conv_graph((1, 5, 5, 4), (4, 3, 3, 4), stride=(3, 3), pad=(1, 1, 3, 3)),
    "depthwise": conv_graph((1, 25, 5, 64), (64, 3, 3, 1), group=64, pad=(1, 1, 1, 1), epilogue=["relu"]),
    "depthwise with stride": conv_graph((1, 12, 13, 24), (24, 3, 3, 1), group=24, stride=(2, 2), pad=(0, 0, 1, 1)),
    "depthwise, odd channels": conv_graph((1, 6, 17, 7), (7, 5, 3, 1), group=7, pad=(2, 1, 2, 1)),
    "depthwise with dilation": conv_graph((1, 9, 20, 16), (16, 3, 3, 1), group=16, dilation=(2, 3)),
}


@pytest.mark.parametrize("machine", machines(), ids=lambda m: m.cpu.name)
@pytest.mark.parametrize("name", CONVS)
def test_convolution(name: str, machine: Machine) -> None:
    assert relative_error(CONVS[name], machine) < TOLERANCE


def matmul_graph(a: tuple[int, ...], b: tuple[int, ...], *, constant: bool, bias: int = 0) -> Graph:
    rng = np.random.default_rng(3)
    fixed = {"b": rng.standard_normal(b).astype(np.float32)} if constant else {}
    if bias:
        fixed["bias"] = rng.standard_normal(bias).astype(np.float32)
    inputs = {"a": a} if constant else {"a": a, "b": b}
    return anchored_graph("matmul", inputs, fixed, {})


MATMULS = {
    "one row": matmul_graph((1, 640), (640, 128), constant=True, bias=128),
    "one row, few columns": matmul_graph((1, 128), (128, 8), constant=True, bias=8),
    "rows of a batch": matmul_graph((1, 32, 64), (64, 192), constant=True, bias=192),
    "both computed": matmul_graph((4, 32, 16), (4, 16, 32), constant=False),
    "computed, uneven": matmul_graph((2, 3, 7, 5), (2, 3, 5, 11), constant=False),
    "broadcast batch": matmul_graph((3, 4, 5), (1, 5, 6), constant=False),
}


@pytest.mark.parametrize("machine", machines(), ids=lambda m: m.cpu.name)
@pytest.mark.parametrize("name", MATMULS)
def test_matmul(name: str, machine: Machine) -> None:
    assert relative_error(MATMULS[name], machine) < TOLERANCE


INTEGER_CONVS = {
    "plain 3x3": integer_conv_graph((1, 8, 8, 16), (16, 3, 3, 16), pad=(1, 1, 1, 1)),
    "k that fills no group": integer_conv_graph((1, 9, 9, 3), (8, 3, 3, 3), stride=(2, 2), pad=(0, 0, 1, 1)),
    "one channel": integer_conv_graph((1, 49, 10, 1), (64, 10, 4, 1), stride=(2, 2), pad=(4, 1, 5, 1)),
    "pointwise": integer_conv_graph((1, 5, 5, 64), (64, 1, 1, 64)),
    "pointwise, odd depth": integer_conv_graph((1, 5, 3, 11), (18, 1, 1, 11)),
    "unsigned": integer_conv_graph((1, 8, 8, 16), (16, 3, 3, 16), pad=(1, 1, 1, 1), dtype=DType.U8, zero_point=128),
    "depthwise": integer_conv_graph((1, 9, 9, 24), (24, 3, 3, 1), group=24, pad=(1, 1, 1, 1)),
    "depthwise, odd channels": integer_conv_graph((1, 9, 9, 7), (7, 3, 3, 1), group=7, stride=(2, 2), pad=(0, 0, 1, 1)),
    "groups": integer_conv_graph((1, 5, 5, 12), (10, 3, 3, 6), group=2, pad=(1, 1, 1, 1)),
    "halfwords": integer_conv_graph((1, 5, 5, 12), (10, 1, 1, 12), dtype=DType.I16, zero_point=0),
}


@pytest.mark.parametrize("machine", machines(), ids=lambda m: m.cpu.name)
@pytest.mark.parametrize("name", INTEGER_CONVS)
def test_integer_convolution_is_exact(name: str, machine: Machine) -> None:
    graph = INTEGER_CONVS[name]
    inputs = random_inputs(graph)
    expected = evaluate_graph(graph, inputs)[graph.outputs[0].name]
    actual = JitModel(lower_graph(graph, machine), machine).run(inputs)[graph.outputs[0].name]
    assert len(np.unique(expected)) > 20, "the case must not saturate everywhere"
    np.testing.assert_array_equal(actual, expected)


FUNCTIONS_BETWEEN_INTEGERS = onnx.parser.parse_model("""
    <ir_version: 9, opset_import: ["" : 20]>
    functions (int16[65536] x) => (int16[65536] y)
    <float fine = {0.0001}, float large = {9000.0}> {
      real = Cast <to = 1> (x)
      scaled = Mul (real, fine)
      a = Erf (scaled)
      b = Exp (scaled)
      c = Sigmoid (b)
      d = Add (a, c)
      wide = Mul (d, large)
      y = Cast <to = 5> (wide)
    }""")


@pytest.mark.parametrize("machine", machines(), ids=lambda m: m.cpu.name)
def test_functions_of_floats_between_integers_are_the_same_on_every_machine(machine: Machine, tmp_path: Path) -> None:
    """A fused multiply-add rounds once less, and not every machine has one."""
    inputs = {"x": np.arange(-32768, 32768).astype(np.int16)}
    path = tmp_path / "functions.onnx"
    onnx.save(FUNCTIONS_BETWEEN_INTEGERS, path)
    expected, found = (
        JitModel(compile_model(path, each).program, each).run(inputs)["y"] for each in (select("generic"), machine)
    )
    assert len(np.unique(expected)) > 10000
    np.testing.assert_array_equal(found, expected)


def test_a_copy_into_memory_with_borders_runs_over_whole_rows() -> None:
    """The input of a padded convolution, whose kernel wants its borders in memory."""
    graph, machine = conv_graph((1, 6, 5, 3), (2, 3, 3, 3), pad=(1, 1, 1, 1)), select("generic")
    program = lower_graph(graph, machine)
    copy = next(kernel for kernel in program.kernels if kernel.name.startswith("expand"))
    assert {const_value(stmt.extent) for stmt in walk_stmts(copy.body) if isinstance(stmt, For)} >= {6, 5 * 3}
    inputs, name = random_inputs(graph), graph.outputs[0].name
    found = JitModel(program, machine).run(inputs)[name]
    np.testing.assert_allclose(found, evaluate_graph(graph, inputs)[name], rtol=1e-5, atol=1e-5)


def test_a_generator_that_forgets_the_output_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one did that knew nothing of the work behind an anchor with several results."""
    forgetful = Generator("forgetful", frozenset(), lambda ctx: True, lambda ctx: (), lambda ctx: 0)
    monkeypatch.setattr(lower_nodes, "choose_generator", lambda ctx: forgetful)
    with pytest.raises(CcmlError, match="no kernel writes"):
        lower_graph(CONVS["pointwise"], select("generic"))


def test_generators_have_names_of_their_own_or_other_anchors() -> None:
    keys = [(generator.name, anchor) for generator in GENERATORS for anchor in generator.anchors or (None,)]
    assert len(set(keys)) == len(keys)


SMALL = integer_conv_graph((1, 1, 1, 2), (2, 1, 1, 2))
SMALL_MAP = integer_conv_graph((1, 5, 5, 5), (5, 3, 3, 1), group=5)
CHOICES = {
    "block": (INTEGER_CONVS["plain 3x3"], "cortex-m4", "dsp contraction"),
    "vectors": (INTEGER_CONVS["plain 3x3"], "cortex-m55", "helium contraction"),
    "words": (INTEGER_CONVS["plain 3x3"], "cortex-m0", "plain contraction"),
    "no blocks": (INTEGER_CONVS["plain 3x3"], "generic", "contraction"),
    "less work than a call": (SMALL, "cortex-m4", "few channels"),
    "blocks of depthwise": (INTEGER_CONVS["depthwise"], "cortex-m4", "dsp depthwise"),
    "words of depthwise": (INTEGER_CONVS["depthwise"], "cortex-m3", "plain depthwise"),
    "staging dearer than a small map": (SMALL_MAP, "cortex-m3", "depthwise"),
    "lanes without channels": (SMALL_MAP, "cortex-m4", "depthwise"),
    "depthwise": (CONVS["depthwise"], "generic", "depthwise"),
    "groups of several channels": (CONVS["groups"], "generic", "contraction"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_the_cheapest_generator_is_taken(name: str) -> None:
    graph, target, expected = CHOICES[name]
    anchors = [call.generator for call in lower_graph(graph, select(target)).calls if call.macs]
    assert anchors == [expected]


@pytest.mark.parametrize("order", [list, reversed], ids=["as it is", "backwards"])
def test_the_order_of_the_table_is_none(order: Callable[..., Iterable[Generator]], monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "GENERATORS", tuple(order(GENERATORS)))
    for graph, target, expected in CHOICES.values():
        assert expected in [call.generator for call in lower_graph(graph, select(target)).calls]
