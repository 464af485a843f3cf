"""Models whose outputs have extents that a run finds, against ONNX Runtime: by machine code, by C, and as graphs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import Range, import_model
from ccml.ir.extents import cropped
from ccml.ir.graph_text import parse_graph, print_graph
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.verification.c_model import CModel
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.extent_models import FEEDS, FILLED, MODELS, NOT_OF_NOTHING, SELECTED, C, X, node, proto
from tests.frontend_onnx.graphs import checked_import, model, run_compiled, value
from tests.tools import needs


@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_onnx_runtime(name: str) -> None:
    made = proto(name)
    graph = checked_import(made)
    program = lower_graph(optimize(graph), host_machine())
    compiled = JitModel(program)
    for x in FILLED if name in NOT_OF_NOTHING else FEEDS:
        wanted = onnxruntime(made, {"x": x})
        values = evaluate_graph(graph, {"x": x})
        meaning = cropped(graph.extents, {output.name: values[output.name] for output in graph.outputs})
        for found in (compiled.run({"x": x}), meaning):
            assert list(found) == MODELS[name][1]
            for result, expected in zip(found.values(), wanted, strict=True):
                assert result.shape == expected.shape and result.dtype == expected.dtype
                np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@needs("gcc")
@pytest.mark.parametrize("name", ["nonzero", "two counts", "contraction"])
def test_c_agrees(name: str) -> None:
    made = proto(name)
    compiled = CModel(lower_graph(optimize(checked_import(made)), host_machine()), host_machine(), "gcc")
    for x in FEEDS:
        for result, expected in zip(compiled.run({"x": x}).values(), onnxruntime(made, {"x": x}), strict=True):
            assert result.shape == expected.shape
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_places_that_a_run_finds_one_by_one() -> None:
    """As of the experts of a mixture by PyTorch's exporter, which takes all to be in use: the last place as well."""
    names = [f"p{n}" for n in range(4)]
    nodes = [
        node("NonZero", ["x"], ["found"]), node("Transpose", ["found"], ["places"], perm=[1, 0]),
        node("Split", ["places", "one"], names, axis=0),
        *(node("Squeeze", [name, "zero"], [f"y{name}"]) for name in names),
    ]  # fmt: skip
    constants = {"one": np.ones(4, np.int64), "zero": np.zeros(1, np.int64)}
    made = model(nodes, [value("x", [4])], [f"y{name}" for name in names], constants)
    x = np.array([1, 2, 3, 4], np.float32)
    for result, expected in zip(run_compiled(made, {"x": x}), onnxruntime(made, {"x": x}), strict=True):
        np.testing.assert_array_equal(result, expected, strict=True)


def test_the_text_of_extents() -> None:
    graph = checked_import(proto("two counts"))
    assert len(graph.extents) == 2 and graph.extents[0].dims == (("places", 0),) and graph.extents[0].bound == 12
    assert graph.extents[1].dims == (("u", 0), ("n", 0))
    assert parse_graph(print_graph(graph, constants="full")) == graph


@pytest.mark.parametrize("axis", [0, 1])
def test_top_k_of_a_computed_k(axis: int) -> None:
    """Of operands of which some are equal; what follows sees the k first."""
    nodes = [
        node("TopK", ["x", "k"], ["values", "places"], axis=axis),
        node("ReduceSum", ["values", "axes"], ["sum"], keepdims=0),
    ]
    inputs, names = [*X, value("k", [1], TensorProto.INT64)], ["values", "places", "sum"]
    made = model(nodes, inputs, names, {"axes": np.array([axis])})
    compiled = JitModel(lower_graph(optimize(checked_import(made)), host_machine()))
    for x in FEEDS:
        for k in range(x.shape[axis] + 1):
            feeds = {"x": x, "k": np.array([k])}
            for result, wanted in zip(compiled.run(feeds).values(), onnxruntime(made, feeds), strict=True):
                assert result.shape == wanted.shape
                np.testing.assert_allclose(result, wanted, rtol=1e-6)
    beyond = compiled.run({"x": FEEDS[0], "k": np.array([99])})
    assert beyond["values"].shape == (3, 4)


REFUSED: Mapping[str, tuple[list[onnx.NodeProto], str]] = {
    "mixed": ([*SELECTED, node("Add", ["rows", "x"], ["y"])], "combines tensors of different extents"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_looks_beyond_an_extent_is_refused(name: str) -> None:
    nodes, reason = REFUSED[name]
    read = {operand for made in nodes for operand in made.input}
    with pytest.raises(CcmlError) as caught:
        import_model(model(nodes, X, ["y"], {key: array for key, array in C.items() if key in read}))
    assert caught.value.kind is ErrorCode.UNSUPPORTED_FEATURE and caught.value.hint is not None
    assert reason in caught.value.reason


def test_refusals_are_collected() -> None:
    nodes = [*SELECTED, node("Add", ["rows", "x"], ["y"], name="one"), node("Sub", ["rows", "x"], ["z"], name="two")]
    with pytest.raises(CcmlError) as caught:
        import_model(model(nodes, X, ["y", "z"], {"axis": C["axis"]}))
    assert "one" in caught.value.reason and "two" in caught.value.reason


def test_a_constant_condition_leaves_no_extent() -> None:
    made = model(
        [node("Compress", ["x", "kept"], ["y"], axis=1)], X, ["y"], {"kept": np.array([True, False, True])}
    )
    graph = checked_import(made)
    assert not graph.extents and graph.outputs[0].shape == (3, 2)


NUMBERS: Mapping[str, list[onnx.NodeProto]] = {
    "range": [
        *SELECTED, node("Shape", ["rows"], ["s"], end=1), node("Squeeze", ["s"], ["n"]),
        node("Range", ["zero", "n", "one"], ["y"]),
    ],
    "every other": [
        *SELECTED, node("Shape", ["rows"], ["s"]), node("Gather", ["s", "zero"], ["n"]),
        node("Range", ["one", "n", "two"], ["r"]), node("Cast", ["r"], ["y"], to=TensorProto.FLOAT),
    ],
    "filled": [
        *SELECTED, node("Shape", ["rows"], ["s"]), node("ConstantOfShape", ["s"], ["z"]),
        node("Add", ["z", "rows"], ["y"]),
    ],
    "numbers of rows": [
        *SELECTED, node("Shape", ["rows"], ["s"]), node("Slice", ["s", "first", "behind"], ["n"]),
        node("ConstantOfShape", ["n"], ["ones"], value=helper.make_tensor("v", TensorProto.INT64, [1], [1])),
        node("CumSum", ["ones", "zero"], ["y"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_shapes_make_tensors(name: str) -> None:
    nodes = NUMBERS[name]
    constants = {**C, "zero": np.array(0), "one": np.array(1), "two": np.array(2)}
    read = {operand for made in nodes for operand in made.input}
    made = model(nodes, X, ["y"], {key: array for key, array in constants.items() if key in read})
    compiled = JitModel(lower_graph(optimize(checked_import(made)), host_machine()))
    for x in FEEDS:
        (wanted,), found = onnxruntime(made, {"x": x}), compiled.run({"x": x})["y"]
        assert found.shape == wanted.shape
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_of_a_single_element_nothing_may_be_left(shape: tuple[int, ...]) -> None:
    made = model([node("NonZero", ["x"], ["y"])], [value("x", shape)], ["y"])
    compiled = JitModel(lower_graph(optimize(import_model(made)), host_machine()))
    for number in (0, -0.0, 2):
        x = np.full(shape, number, np.float32)
        assert compiled.run({"x": x})["y"].tolist() == np.array(np.nonzero(x)).tolist()


@pytest.mark.parametrize("step", [1, 2, -1, -2])
@pytest.mark.parametrize("dims", [{}, {"m": Range(1, 3), "t": Range(1, 6)}])
def test_parts_between_places_that_a_run_computes(step: int, dims: dict[str, Range]) -> None:
    """Places are data, so that only a run knows how many elements there are: 5 of 6, or none."""
    nodes = [
        helper.make_node("Slice", ["x", "from", "to", "axis", "step"], ["part"]),
        helper.make_node("Mul", ["part", "part"], ["y"]), helper.make_node("ReduceSum", ["part", "axis"], ["sum"]),
        helper.make_node("ReduceMean", ["part", "axis"], ["mean"]),
    ]  # fmt: skip
    inputs = [value("x", ["m", "t"] if dims else [2, 6]), *(value(n, [1], TensorProto.INT64) for n in ("from", "to"))]
    made = model(nodes, inputs, ["y", "sum", "mean"], {"axis": np.array([1]), "step": np.array([step])})
    compiled = JitModel(lower_graph(optimize(import_model(made, dims)), host_machine()))
    for shape in [(1, 1), (3, 4), (2, 6)] if dims else [(2, 6)]:
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        for start, end in ((0, 5), (5, 0), (-2, 9), (3, 3), (-9, -1), (-1, -9), (4, 2), (99, -99)):
            found = compiled.run({"x": x, "from": np.array([start]), "to": np.array([end])})
            part = x[:, start : None if step < 0 and end < -shape[1] else end : step]
            np.testing.assert_array_equal(found["y"], part * part)
            np.testing.assert_allclose(found["sum"], part.sum(1, keepdims=True), rtol=1e-5, atol=1e-6)
            mean = part.sum(1, keepdims=True) / max(part.shape[1], 1)
            np.testing.assert_allclose(found["mean"], mean, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dims", [{}, {"m": Range(1, 3), "t": Range(1, 6)}])
def test_one_element_from_a_place_that_a_run_computes(dims: dict[str, Range]) -> None:
    """``x[i : i + 1]`` is empty where i is -1: the end is 0, which does not count from the end."""
    nodes = [
        helper.make_node("Add", ["from", "axis"], ["to"]),
        helper.make_node("Slice", ["x", "from", "to", "axis"], ["y"]),
        helper.make_node("Squeeze", ["y", "axis"], ["z"]), helper.make_node("Add", ["y", "flat"], ["sum"]),
        helper.make_node("Concat", ["x", "y"], ["all"], axis=1),
    ]  # fmt: skip
    inputs = [value("x", ["m", "t"] if dims else [2, 6]), value("from", [1], TensorProto.INT64)]
    numbers = {"axis": np.array([1]), "flat": np.zeros((1, 5), np.float32)}
    made = model(nodes, inputs, ["y", "z", "sum", "all"], numbers)
    compiled = JitModel(lower_graph(optimize(import_model(made, dims)), host_machine()))
    for shape in [(1, 1), (3, 4), (2, 6)] if dims else [(2, 6)]:
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        for start in (0, 3, 5, 6, -1, -2, -6, -7, 99, -99, 2**63 - 1):
            found = compiled.run({"x": x, "from": np.array([start])})
            part = x[:, start : min(start + 1, 2**63 - 1)]
            np.testing.assert_array_equal(found["y"], part)
            np.testing.assert_array_equal(found["all"], np.concatenate([x, part], 1))
            if part.size:  # elsewhere ONNX has no result
                np.testing.assert_array_equal(found["z"], part[:, 0])
                np.testing.assert_array_equal(found["sum"], part + np.zeros((1, 5), np.float32))


@pytest.mark.parametrize("dims", [{}, {"n": Range(2, 7)}])
def test_parts_of_sizes_that_a_run_computes(dims: dict[str, Range]) -> None:
    """They are the whole again, put together."""
    nodes = [
        helper.make_node("Split", ["x", "sizes"], ["a", "b", "c"], axis=0),
        helper.make_node("Concat", ["a", "b", "c"], ["all"], axis=0), helper.make_node("Add", ["x", "all"], ["y"]),
        helper.make_node("ReduceSum", ["b", "axis"], ["sum"]),
    ]  # fmt: skip
    inputs = [value("x", ["n" if dims else 7, 3]), value("sizes", [3], TensorProto.INT64)]
    made = model(nodes, inputs, ["a", "b", "c", "y", "sum"], {"axis": np.array([0])})
    compiled = JitModel(lower_graph(optimize(import_model(made, dims)), host_machine()))
    for sizes in [(1, 2, 4), (0, 0, 7), (3, 4, 0), *([(1, 0, 1)] if dims else [])]:
        x = np.arange(3 * sum(sizes), dtype=np.float32).reshape(-1, 3)
        feeds = {"x": x, "sizes": np.array(sizes)}
        for result, wanted in zip(compiled.run(feeds).values(), onnxruntime(made, feeds), strict=True):
            np.testing.assert_array_equal(result, wanted)
