"""Contractions of bfloat16 on every CPU, by C as well as by LLVM, against their definition: exact sums of products of
rounded operands, from which results are not further than the documentation says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.emit_llvm.objects import emit_assembly
from ccml.ir.graph import Graph
from ccml.ir.graph_text import parse_graph
from ccml.ir.program import Program
from ccml.ir.steps import walk_calls
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.fused import body_of
from ccml.passes.bfloats import bfloats
from ccml.passes.fuse import fuse
from ccml.program.build import exact_machine, lower_graph
from ccml.targets import Machine, select

from tests.artifacts.built import run_artifact
from tests.schedule.graphs import conv_graph, random_inputs
from tests.schedule.test_generators import machines, matmul_graph
from tests.tools import needs

UNIT = 2.0**-24
"""The relative error of rounding to a float."""
PAD = (1, 1, 1, 1)
GRAPHS = {
    "plain 3x3": (conv_graph((1, 6, 6, 16), (16, 3, 3, 16), pad=PAD), 144),
    "winograd": (conv_graph((1, 8, 8, 32), (32, 3, 3, 32), pad=PAD), None),
    "pointwise, odd": (conv_graph((1, 5, 3, 11), (18, 1, 1, 11), epilogue=["relu"]), 11),
    "pointwise of whole vectors": (conv_graph((1, 5, 5, 64), (24, 1, 1, 64)), 64),
    "pointwise with stride": (conv_graph((1, 9, 8, 6), (12, 1, 1, 6), stride=(2, 2)), 6),
    "first layer": (conv_graph((1, 9, 9, 3), (8, 3, 3, 3), stride=(2, 2), pad=(0, 0, 1, 1)), 27),
    "one channel": (conv_graph((1, 15, 9, 1), (12, 5, 3, 1), stride=(2, 2), pad=(2, 1, 2, 1)), 15),
    "one channel to one": (conv_graph((1, 6, 7, 1), (1, 3, 3, 1), pad=PAD), 9),
    "dilation and batch": (conv_graph((2, 9, 11, 5), (10, 3, 2, 5), dilation=(2, 2), pad=(2, 1, 2, 1)), 30),
    "groups": (conv_graph((1, 5, 5, 12), (10, 3, 3, 6), group=2, pad=PAD, bias=False), 54),
    "groups of odd channels": (conv_graph((1, 5, 5, 9), (6, 3, 3, 3), group=3, pad=PAD), 27),
    "residual": (conv_graph((1, 6, 6, 8), (8, 1, 1, 8), epilogue=["add", "relu"]), 8),
    "many columns": (conv_graph((1, 3, 4, 8), (83, 1, 1, 8)), 8),
    "one row": (matmul_graph((1, 65), (65, 12), constant=True, bias=12), 65),
    "one row of whole vectors": (matmul_graph((1, 64), (64, 60), constant=True, bias=60), 64),
    "one column": (matmul_graph((7, 33), (33, 1), constant=True, bias=1), 33),
    "one product": (matmul_graph((3, 1), (1, 5), constant=True), 1),
    "odd rows": (matmul_graph((7, 36), (36, 20), constant=True), 36),
}
"""Graphs of one node, and how many products an output is the sum of, ``None`` where it may be Winograd's."""


def rounded(graph: Graph) -> Graph:
    """The graph of one fused node with its product in bfloat16."""
    (node,) = graph.nodes
    body = body_of(node.attrs)
    constants = {**graph.constants, **body.constants}
    return fuse(bfloats(Graph("g", graph.inputs, body.outputs, body.nodes, constants)))


def nearest(array: np.ndarray) -> np.ndarray:
    """The nearest numbers of eight binary digits, halves to even, by arithmetic alone."""
    fraction, exponent = np.frexp(array.astype(np.float64))
    return np.ldexp(np.round(fraction * 2**8), exponent - 8).astype(np.float32)


def defined(graph: Graph, inputs: dict[str, np.ndarray], magnitudes: bool = False) -> np.ndarray:
    """What the original ``graph`` gives for rounded operands, in float64; with ``magnitudes`` for those of all."""
    (node,) = graph.nodes
    body = body_of(node.attrs)
    factors = {value.name for value in body.nodes[0].operands[:2]}

    def taken(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        known = {name: nearest(array) if name in factors else array for name, array in arrays.items()}
        return {name: np.abs(array) for name, array in known.items()} if magnitudes else known

    plain = Graph("g", graph.inputs, body.outputs, body.nodes, taken({**graph.constants, **body.constants}))
    return evaluate_graph(plain, taken(inputs))[graph.outputs[0].name].astype(np.float64)


def assert_within_bound(graph: Graph, products: int | None, inputs: dict[str, np.ndarray], found: np.ndarray) -> None:
    """Products are exact, and each sum is wrong by 2^-23 at most, as arm64 rounds them to odd."""
    share = 2 * (products or 1) * UNIT + 3 * UNIT
    most = share * defined(graph, inputs, magnitudes=True) + 1e-30
    if products is None:
        channels = graph.inputs[0].shape[-1]
        largest = max(np.abs(value).max() for value in inputs.values())
        weights = np.abs(graph.constants["w"]).sum(axis=(1, 2, 3)).max()
        most += 157 * (channels + 39) * UNIT * largest * weights
    assert found.dtype == np.float32
    assert np.all(np.abs(found - defined(graph, inputs)) <= most)


@pytest.mark.parametrize("machine", machines(), ids=lambda m: m.cpu.name)
@pytest.mark.parametrize("name", GRAPHS)
def test_in_this_process(name: str, machine: Machine) -> None:
    graph, products = GRAPHS[name]
    inputs = random_inputs(graph)
    found = JitModel(lower_graph(rounded(graph), machine), machine).run(inputs)[graph.outputs[0].name]
    assert_within_bound(graph, products, inputs, found)



ROUTES = pytest.mark.parametrize("route", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
ALL = pytest.param(tuple(GRAPHS), marks=pytest.mark.check, id="all")
SOME = pytest.param(
    ("first layer", "one channel", "groups of odd channels", "winograd", "odd rows", "one row of whole vectors"),
    id="some",
)
GRAPHS_OF = pytest.mark.parametrize("names", [SOME, ALL])
ARM = select("linux-arm64", cpu="armv8.2-a-bf16")


def compare_artifacts(machine: Machine, names: Sequence[str], route: Emit, folder: Path) -> None:
    """Graphs compiled by ``route``, as programs for ``machine``."""
    for number, (graph, products) in enumerate(GRAPHS[name] for name in names):
        inputs, output = random_inputs(graph), graph.outputs[0].name
        program = lower_graph(rounded(graph), machine)
        (found,) = run_artifact(program, machine, route, folder / str(number), [inputs])
        assert_within_bound(graph, products, inputs, found[output])


@ROUTES
@GRAPHS_OF
@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
def test_programs_with_the_instructions_of_arm64(names: Sequence[str], route: Emit, tmp_path: Path) -> None:
    compare_artifacts(ARM, names, route, tmp_path)


@ROUTES
@pytest.mark.parametrize("names", [pytest.param(("groups", "one row"), id="some"), ALL])
@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
def test_programs_for_other_arm64(names: Sequence[str], route: Emit, tmp_path: Path) -> None:
    compare_artifacts(select("linux-arm64", cpu="armv8-a"), names, route, tmp_path)


@GRAPHS_OF
@needs("gcc")
def test_c_for_this_machine(names: Sequence[str], tmp_path: Path) -> None:
    compare_artifacts(host_machine(), names, Emit.C, tmp_path)


@pytest.mark.check
@pytest.mark.parametrize("machine", machines(), ids=lambda m: m.cpu.name)
@needs("gcc")
def test_c_for_each_level(machine: Machine, tmp_path: Path) -> None:
    compare_artifacts(machine, tuple(GRAPHS), Emit.C, tmp_path)


MACHINES = [select("x86", cpu="x86-64-v3"), select("x86", cpu="x86-64-v4-bf16"), select("linux-arm64"), ARM]
EACH = pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.cpu.name)


def test_processors_multiply_pairs_of_bfloat16() -> None:
    """All products are those of the processor's instructions, on arm64 of matrices where there are several rows."""
    for machine, pattern in ((MACHINES[1], r"\bvdpbf16ps\b"), (ARM, r"\bbfmmla\b")):
        text = emit_assembly(lower_graph(rounded(GRAPHS["odd rows"][0]), machine), machine)
        assert re.search(pattern, text) and not re.search(r"\bv?fm(la|add)", text)
    alone = rounded(GRAPHS["one row of whole vectors"][0])
    assert re.search(r"\bbfdot\b", emit_assembly(lower_graph(alone, ARM), ARM))


def constant_bytes(program: Program) -> int:
    return sum(constant.nbytes for constant in program.constants.values())


@EACH
def test_weights_take_half_the_memory(machine: Machine) -> None:
    graph = matmul_graph((16, 64), (64, 32), constant=True)
    floats, halves = (constant_bytes(lower_graph(each, machine)) for each in (graph, rounded(graph)))
    assert (floats, halves) == (64 * 32 * 4, 64 * 32 * 2)


@EACH
def test_winograd_where_it_is_faster_with_weights_of_floats(machine: Machine) -> None:
    """Products of matrices of bfloat16 are four in an instruction, so that there is nothing to save."""
    graph = rounded(GRAPHS["winograd"][0])
    (call,) = (call for call in walk_calls(lower_graph(graph, machine).body) if call.macs)
    (exact,) = (call for call in walk_calls(lower_graph(graph, exact_machine(machine)).body) if call.macs)
    assert (call.generator or "").startswith("contraction" if machine is ARM else "winograd")
    assert exact.generator == "contraction"
    program = lower_graph(graph, exact_machine(machine))
    assert constant_bytes(program) < 2.1 * 32 * 32 * 9


def test_a_product_of_values_beyond_all_floats_is_infinite() -> None:
    """As it is for floats: infinities and NaN go through the rounding."""
    graph = matmul_graph((1, 2), (2, 3), constant=True)
    for machine in machines():
        model = JitModel(lower_graph(rounded(graph), machine), machine)
        for value in (np.inf, np.nan):
            (found,) = model.run({graph.inputs[0].name: np.array([[value, 1]], np.float32)}).values()
            assert not np.isfinite(found).any()


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
def test_rounding_by_an_instruction(tmp_path: Path) -> None:
    """To the bits that it has everywhere, of subnormal numbers as well; a NaN is one still."""
    bits = np.random.default_rng(2).integers(0, 2**32, (1, 255), dtype=np.uint32)
    bits[0, :6] = 0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x7F800000, 0xFF800001, 0x80008001
    graph = parse_graph("graph g(%x: f32[1,255]) -> (%y)\n  %y : bf16[1,255] = cast(%x) {to=bf16}\n")
    x = bits.view(np.float32)
    program = lower_graph(fuse(graph), ARM)
    assert re.search(r"\bbfcvtn\b", emit_assembly(program, ARM))
    (found,) = run_artifact(program, ARM, Emit.OBJECT, tmp_path, [{"x": x}])
    here = JitModel(lower_graph(fuse(graph), host_machine()), host_machine()).run({"x": x})["y"].view(np.uint16)
    assert np.array_equal(found["y"].view(np.uint16)[~np.isnan(x)], here[~np.isnan(x)])
    assert np.isnan(found["y"].astype(np.float32)[np.isnan(x)]).all()
