"""Branches and loops at run time: imported, evaluated and compiled, against ONNX Runtime."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model
from ccml.frontend_onnx.export import export_model
from ccml.ir.graph_text import parse_graph, print_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import select
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import onnxruntime, reference
from tests.frontend_onnx.flow_models import BOOL, CASES, I64, N, body, choice, looping, search
from tests.frontend_onnx.graphs import checked_import, model, value


def same(results: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for result, wanted in zip(results, expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", CASES)
def test_as_onnx_runtime_does(name: str) -> None:
    """The meaning of the graph, and machine code for memory that is plenty and for memory that is scarce.

    ONNX Runtime does not take a branch that returns a value of the graph around it; ONNX's reference does.
    """
    oracle = reference if name == "plain results" else onnxruntime
    pytest.importorskip("onnxruntime")
    proto, samples = CASES[name]()
    graph = checked_import(proto)
    assert any(node.op in ("if", "loop") for node in graph.nodes)
    assert parse_graph(print_graph(graph, constants="full")) == graph
    optimized = optimize(graph)
    host = host_machine()
    thrifty = replace(host, target=replace(host.target, scarce_ram=True))
    models = [JitModel(lower_graph(optimized, machine), host) for machine in (host, thrifty)]
    for feeds in samples:
        expected = oracle(proto, feeds)
        values = evaluate_graph(graph, feeds)
        same([values[output.name] for output in graph.outputs], expected)
        for compiled in models:
            found = compiled.run(feeds)
            same([found[output.name] for output in proto.graph.output], expected)
            seen = compiled.observe(feeds)
            same([seen[output.name] for output in proto.graph.output], expected)


@pytest.mark.parametrize("name", CASES)
def test_programs_for_small_cores_are_built(name: str) -> None:
    """In place and streamed where that is possible; the checker of plans looks at each."""
    optimized = optimize(checked_import(CASES[name]()[0]))
    for target in ("cortex-m0", "cortex-m55"):
        lower_graph(optimized, select(target))


def refused(proto: onnx.ModelProto) -> CcmlError:
    with pytest.raises(CcmlError) as caught:
        import_model(proto)
    return caught.value


def test_branches_of_different_shapes_have_extents() -> None:
    node = choice("c", ["y"], body([N("ReduceSum", ["x"], ["t"])], ["t"]), body([N("Neg", ["x"], ["e"])], ["e"]))
    proto = model([node], [value("x", [2, 3]), value("c", [], BOOL)], ["y"])
    graph = checked_import(proto)
    assert [extent.dims for extent in graph.extents] == [(("y", 0),), (("y", 1),)]
    compiled = JitModel(lower_graph(optimize(graph), host_machine()))
    for c in (True, False):
        feeds = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "c": np.array(c)}
        same([compiled.run(feeds)["y"]], onnxruntime(proto, feeds))


def test_branches_of_different_ranks_are_refused() -> None:
    sums = [N("ReduceSum", ["x", "axes"], ["t"], keepdims=0)]
    node = choice("c", ["y"], body(sums, ["t"]), body([N("Neg", ["x"], ["e"])], ["e"]))
    inputs = [value("x", [2, 3]), value("c", [], BOOL)]
    error = refused(model([node], inputs, ["y"], {"axes": np.array([1])}))
    assert error.kind is ErrorCode.UNSUPPORTED_FEATURE and error.loc == "choice"
    assert "make y f32[2] or f32[2,3]" in error.reason and error.hint is not None and "--dim" in error.hint


OPSETS = [helper.make_opsetid("", 21)]


def _one_apart(*more: onnx.NodeProto, output: str = "y") -> onnx.ModelProto:
    """Branches make y[2,1,3] or y[2,3]; then other nodes."""
    apart = [N("Unsqueeze", ["x", "axes"], ["t"])]
    node = choice("c", ["y"], body(apart, ["t"]), body([N("Neg", ["x"], ["e"])], ["e"]))
    inputs = [value("x", [2, 3]), value("c", [], BOOL)]
    constants = {"axes": np.array([1]), "w": np.ones((2, 3), np.float32)}
    return model([node, *more], inputs, [output], constants)


PLACES_OF_ITS_SHAPE = [
    N("Shape", ["y"], ["shape"]), N("ConstantOfShape", ["shape"], ["f"]), N("Cast", ["f"], ["i"], to=I64),
    N("GatherElements", ["y", "i"], ["z"]),
]  # fmt: skip


@pytest.mark.parametrize(
    "more", [[], [N("Neg", ["y"], ["z"])], [N("Add", ["y", "w"], ["z"])], PLACES_OF_ITS_SHAPE]
)  # fmt: skip
def test_a_dimension_of_1_that_one_branch_has_and_nothing_settles(more: list[onnx.NodeProto]) -> None:
    """An output that nobody declares, operators that take any rank, and what is computed of its shape."""
    error = refused(_one_apart(*more, output=more[-1].output[0] if more else "y"))
    assert error.kind is ErrorCode.UNSUPPORTED_FEATURE and error.loc == "choice"
    assert "branches make y f32[2,1,3] or f32[2,3], and what follows allows both" in error.reason
    assert error.hint is not None and "value_info" in error.hint


@pytest.mark.parametrize("shape", [(2, 3), (2, 1, 3)])
def test_a_declared_rank_settles_a_dimension_of_1(shape: tuple[int, ...], caplog: pytest.LogCaptureFixture) -> None:
    proto = _one_apart(N("Neg", ["y"], ["z"]), output="z")
    proto.graph.value_info.append(value("y", shape))
    graph = checked_import(proto)
    assert graph.outputs[0].shape == shape
    assert f"branches make y f32[2,1,3] or f32[2,3]; it is taken as {list(shape)}" in caplog.text
    compiled = JitModel(lower_graph(optimize(graph), host_machine()))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for c, sign in ((True, -1), (False, 1)):
        np.testing.assert_array_equal(compiled.run({"x": x, "c": np.array(c)})["z"], (sign * x).reshape(shape))


@pytest.mark.parametrize("more", [
    [N("Abs", ["y"], ["a"]), N("Add", ["a", "w"], ["s"])],
    [N("Shape", ["y"], ["shape"]), N("ConstantOfShape", ["shape"], ["f"]), N("Add", ["y", "f"], ["s"])],
], ids=["values", "shape"])  # fmt: skip
def test_what_reads_it_settles_a_dimension_of_1(
    more: list[onnx.NodeProto], caplog: pytest.LogCaptureFixture
) -> None:  # fmt: skip
    """GatherElements takes indices of the rank of its data, so that only one rank is possible."""
    indices, taken = N("Cast", ["w"], ["i"], to=I64), N("GatherElements", ["s", "i"], ["z"])
    graph = checked_import(_one_apart(*more, indices, taken, output="z"))
    assert graph.outputs[0].shape == (2, 3) and "it is taken as [2, 3]" in caplog.text
    assert graph.outputs[0].name == "z"


def test_names_do_not_tell_which_ranks_were_tried() -> None:
    """The imports of a model with ranges are compared by names, and a try may go further in one of them."""
    shrunk = helper.make_function("own", "Shrunk", ["a"], ["t"], [N("Shrink", ["a"], ["t"], lambd=0.5)], OPSETS)
    more = [
        N("Shrunk", ["y"], ["s"], domain="own"), N("Cast", ["w"], ["i"], to=I64),
        N("GatherElements", ["s", "i"], ["g"]), N("Shrunk", ["g"], ["z"], domain="own"),
    ]  # fmt: skip
    names = []
    for infos in ([value("y", (2, 3))], []):
        proto = _one_apart(*more, output="z")
        proto.functions.append(shrunk)
        proto.opset_import.append(helper.make_opsetid("own", 1))
        proto.graph.value_info.extend(infos)
        names.append([each.name for node in checked_import(proto).nodes for each in (*node.operands, *node.outputs)])
    assert names[0] == names[1]


def test_branches_of_different_types_are_invalid() -> None:
    node = choice(
        "c", ["y"], body([N("Cast", ["x"], ["t"], to=TensorProto.INT32)], ["t"]), body([N("Neg", ["x"], ["e"])], ["e"])
    )
    error = refused(model([node], [value("x", [2]), value("c", [], BOOL)], ["y"]))
    assert error.kind is ErrorCode.INVALID_MODEL and "y is i32[2] or f32[2]" in error.reason


def test_what_a_branch_cannot_do_is_reported_with_the_rest() -> None:
    node = choice("c", ["y"], body([N("Nonsense", ["x"], ["t"])], ["t"]), body([N("Neg", ["x"], ["e"])], ["e"]))
    error = refused(model([node, N("Other", ["y"], ["z"])], [value("x", [2]), value("c", [], BOOL)], ["z"]))
    assert error.kind is ErrorCode.UNSUPPORTED_OPERATOR and "Nonsense" in error.reason and "Other" in error.reason


def test_carried_values_that_grow_are_refused() -> None:
    step = body([N("Concat", ["a", "x"], ["n"], axis=0), N("Identity", ["going"], ["go"])], ["go", "n"],
                looping(("a", [None, 3], 1)))  # fmt: skip
    node = N("Loop", ["k", "", "x"], ["y"], body=step, name="grows")
    error = refused(model([node], [value("x", [2, 3]), value("k", [], I64)], ["y"]))
    assert error.kind is ErrorCode.UNSUPPORTED_FEATURE and "y changes from f32[2,3] to f32[4,3]" in error.reason


def test_rows_of_a_loop_of_unknown_length() -> None:
    """Refused, unless the model says that there are always as many."""
    step = body([N("Add", ["a", "x"], ["n"]), N("Identity", ["going"], ["go"])], ["go", "n", "n"],
                looping(("a", [3], 1)))  # fmt: skip
    node = N("Loop", ["k", "", "x"], ["y", "rows"], body=step, name="rows")
    proto = model([node], [value("x", [3]), value("k", [], I64)], ["y", "rows"])
    error = refused(proto)
    assert "the length of rows" in error.reason and error.hint is not None and "value_info" in error.hint
    proto.graph.output[1].CopyFrom(value("rows", [5, 3]))
    feeds = {"x": np.float32([1, 2, 3]), "k": np.array(5)}
    results = JitModel(lower_graph(optimize(checked_import(proto)), host_machine())).run(feeds)
    np.testing.assert_array_equal(results["rows"], np.float32([1, 2, 3]) * np.arange(2, 7)[:, None])


@pytest.mark.parametrize("start", [True, False])
def test_rows_whose_number_a_run_finds(start: bool) -> None:
    """As many as there were passes, and at most the trip count; what follows sees no others."""
    nodes = [N("Add", ["a", "x"], ["n"]), N("ReduceSum", ["n"], ["sum"], keepdims=0), N("Less", ["sum", "end"], ["on"]),
             N("Add", ["i", "i"], ["twice"])]  # fmt: skip
    step = body(nodes, ["on", "n", "n", "twice"], looping(("a", [3], 1)), end=np.float32(20))
    nodes = [N("Loop", ["k", "start", "x"], ["y", "rows", "numbers"], body=step, name="rows"),
             N("ReduceMax", ["rows", "axis"], ["most"], keepdims=0), N("Neg", ["rows"], ["z"])]  # fmt: skip
    inputs = [value("x", [3]), value("start", [], BOOL)]
    constants = {"k": np.array(7), "axis": np.array([0])}
    proto = model(nodes, inputs, ["y", "rows", "numbers", "z", *(["most"] if start else [])], constants)
    compiled = JitModel(lower_graph(optimize(checked_import(proto)), host_machine()))
    for x, passes in (([1, 2, 3], 3), ([9, 9, 9], 1), ([0, 0, 1], 7)):
        feeds = {"x": np.float32(x), "start": np.array(start)}
        found = compiled.run(feeds)
        assert found["rows"].shape == (passes if start else 0, 3)
        same([found[output.name] for output in proto.graph.output], onnxruntime(proto, feeds))


def test_ten_thousand_passes_are_one_loop() -> None:
    """Nodes do not grow with the trip count."""
    step = body([N("Mul", ["a", "half"], ["h"]), N("Add", ["h", "x"], ["n"]), N("Identity", ["going"], ["go"])],
                ["go", "n"], looping(("a", [3], 1)), half=np.float32(0.5))  # fmt: skip
    proto = model([N("Loop", ["k", "", "x"], ["y"], body=step, name="l")], [value("x", [3])], ["y"],
                  {"k": np.array(10_000)})  # fmt: skip
    graph = checked_import(proto)
    assert [node.op for node in graph.nodes] == ["loop"] and graph.nodes[0].attrs["limit"] == 10_000
    results = JitModel(lower_graph(optimize(graph), host_machine())).run({"x": np.float32([1, 2, 3])})
    np.testing.assert_allclose(results["y"], [2, 4, 6])


def test_constant_conditions_behind_passes_choose_a_branch() -> None:
    """A condition that only the passes find out."""
    graph = parse_graph("""graph g(%x: f32[2]) -> (%y)
  const %one : f32[] = dense<1.0>
  const %two : f32[] = dense<2.0>
  %c : bool[] = lt(%one, %two)
  %y : f32[2] = if(%c, %x, %two) {then={
    graph then(%x: f32[2], %k: f32[]) -> (%t)
      %t : f32[2] = mul(%x, %k)
  }, orelse={
    graph orelse(%x: f32[2], %k: f32[]) -> (%e)
      %e : f32[2] = sub(%x, %k)
  }}   @"choice"
""")
    optimized = optimize(graph)
    assert all(node.op == "fused" for node in optimized.nodes)
    found = evaluate_graph(optimized, {"x": np.float32([1, 2])})
    np.testing.assert_array_equal(found["y"], [2, 4])


def test_a_loop_for_a_constant_is_computed_now() -> None:
    step = body([N("Add", ["a", "a"], ["n"]), N("Identity", ["going"], ["go"])], ["go", "n"], looping(("a", [2], 1)))
    proto = model([N("Loop", ["k", "", "one"], ["t"], body=step), N("Add", ["t", "x"], ["y"])], [value("x", [2])],
                  ["y"], {"k": np.array(2000), "one": np.float32([0, -0.0])})  # fmt: skip
    assert [node.op for node in checked_import(proto).nodes] == ["add"]


def test_searches_may_have_no_trip_count() -> None:
    proto, samples = search()
    proto.graph.node[0].input[0] = ""
    feeds = {name: array for name, array in samples[1].items() if name != "k"}
    del proto.graph.input[1]
    found = JitModel(lower_graph(optimize(checked_import(proto)), host_machine())).run(feeds)
    same([found[output.name] for output in proto.graph.output], onnxruntime(proto, feeds))


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("long scan", "empty")])
def test_it_is_exported(name: str) -> None:
    """As a model that ONNX Runtime runs, and that imports again."""
    ort = pytest.importorskip("onnxruntime")
    proto, samples = CASES[name]()
    exported = export_model(checked_import(proto))
    onnx.checker.check_model(exported, full_check=True)
    session = ort.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"])
    graph = checked_import(exported)
    for feeds in samples:
        expected = (reference if name == "plain results" else onnxruntime)(proto, feeds)
        same(session.run([output.name for output in proto.graph.output], feeds), expected)
        values = evaluate_graph(graph, feeds)
        same([values[output.name] for output in proto.graph.output], expected)
