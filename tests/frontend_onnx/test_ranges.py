"""Models compiled for a range of extents, run with every extent, against ONNX Runtime with the model as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import onnx
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import Range, import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.verification.c_model import CModel
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.exported_models import EXPORTED
from tests.frontend_onnx.graphs import Operand, checked_import, model, value
from tests.frontend_onnx.ranged_models import RANGED, Ranged, make
from tests.tools import needs


def extents(case: Ranged) -> Iterator[dict[str, int]]:
    ranges = [range(extent.least, extent.most + 1) for extent in case.ranges.values()]
    return (dict(zip(case.ranges, numbers)) for numbers in product(*ranges))


MODELS = {**RANGED, **EXPORTED}


@pytest.mark.parametrize("name", MODELS)
def test_every_extent(name: str) -> None:
    case = MODELS[name]()
    compiled = JitModel(lower_graph(optimize(checked_import(case.proto, dims=case.ranges)), host_machine()))
    rng = np.random.default_rng(0)
    for numbers in extents(case):
        feeds = case.arrays(numbers, rng)
        found = compiled.run(feeds)
        for output, wanted in zip(case.proto.graph.output, onnxruntime(case.proto, feeds), strict=True):
            result = found[output.name]
            assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype), (output.name, numbers)
            np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5, err_msg=f"{output.name} {numbers}")


@needs("gcc")
@pytest.mark.parametrize("name", ["cnn", "encoder", "gru", "decoder with past", "experts"])
def test_c(name: str) -> None:
    case = MODELS[name]()
    machine = host_machine()
    compiled = CModel(lower_graph(optimize(checked_import(case.proto, dims=case.ranges)), machine), machine, "gcc")
    rng = np.random.default_rng(0)
    for numbers in list(extents(case))[::3]:
        feeds = case.arrays(numbers, rng)
        for result, wanted in zip(compiled.run(feeds).values(), onnxruntime(case.proto, feeds), strict=True):
            assert result.shape == wanted.shape
            np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("new", [1, "new"])
def test_a_cache_that_grows_from_nothing(new: int | str) -> None:
    """A decoder is given the keys and values of the tokens before, and gives them back with those of the new ones."""
    heads, width = 2, 8
    apart = [make("Reshape", ["{}", "apart"], ["{}r"]), make("Transpose", ["{}r"], ["{}h"], perm=[0, 2, 1, 3])]
    nodes = [make("MatMul", ["x", f"w{name}"], [name]) for name in "qkv"]
    for name in "qkv":
        for node in apart:
            nodes.append(make(node.op_type, [n.format(name) for n in node.input], [node.output[0].format(name)]))
            nodes[-1].attribute.extend(node.attribute)
    nodes += [
        make("Concat", ["past_k", "kh"], ["now_k"], axis=2), make("Concat", ["past_v", "vh"], ["now_v"], axis=2),
        make("Transpose", ["now_k"], ["kt"], perm=[0, 1, 3, 2]), make("MatMul", ["qh", "kt"], ["scores"]),
        make("Softmax", ["scores"], ["shares"]), make("MatMul", ["shares", "now_v"], ["context"]),
        make("Transpose", ["context"], ["back"], perm=[0, 2, 1, 3]), make("Reshape", ["back", "together"], ["y"]),
    ]  # fmt: skip
    rng = np.random.default_rng(5)
    weights = {f"w{name}": rng.standard_normal((heads * width, heads * width)).astype(np.float32) / 4 for name in "qkv"}
    constants = {**weights, "apart": np.array([0, 0, heads, width]), "together": np.array([0, 0, heads * width])}
    past = [1, heads, "past", width]
    inputs = [value("x", [1, new, heads * width]), value("past_k", past), value("past_v", past)]
    proto = model(nodes, inputs, ["y", "now_k", "now_v"], constants)
    ranges = {"past": Range(0, 11), **({"new": Range(1, 3)} if new == "new" else {})}
    compiled = JitModel(lower_graph(optimize(checked_import(proto, dims=ranges)), host_machine()))
    keys = values = np.zeros((1, heads, 0, width), np.float32)
    for count in (1, 3, 2, 1, 3) if new == "new" else [1] * 12:
        x = rng.standard_normal((1, count, heads * width)).astype(np.float32)
        feeds = {"x": x, "past_k": keys, "past_v": values}
        found, wanted = compiled.run(feeds), onnxruntime(proto, feeds)
        for name, array in zip(("y", "now_k", "now_v"), wanted, strict=True):
            assert found[name].shape == array.shape
            np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-5)
        keys, values = wanted[1:]


def test_the_last_elements_of_an_extent() -> None:
    """As a language model takes the state of the last token: negative indices count back from the extent of the run."""
    nodes = [
        make("Gather", ["x", "last"], ["y"], axis=1), make("Gather", ["x", "both"], ["z"], axis=1),
        make("MatMul", ["y", "w"], ["v"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = {"last": np.array(-1), "both": np.array([[-2, 0], [1, -1]])}
    constants["w"] = np.eye(4, 3, dtype=np.float32)
    proto = model(nodes, [value("x", ["batch", "seq", 4])], ["y", "z", "v"], constants)
    ranges = {"batch": Range(1, 3), "seq": Range(2, 7)}
    compiled = JitModel(lower_graph(optimize(checked_import(proto, dims=ranges)), host_machine()))
    rng = np.random.default_rng(2)
    for batch, seq in product((1, 3), (2, 4, 7)):
        feeds = {"x": rng.standard_normal((batch, seq, 4)).astype(np.float32)}
        for found, wanted in zip(compiled.run(feeds).values(), onnxruntime(proto, feeds), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("op", ["Gather", "GatherND", "GatherElements", "ScatterND", "ScatterElements"])
def test_indices_of_the_first_and_of_the_last_element(op: str) -> None:
    """Point sets are sampled, and rows written, at indices of which some are constant and some follow an extent."""
    nodes = [
        make("Shape", ["x"], ["shape"]), make("Gather", ["shape", "zero"], ["n"]), make("Mul", ["n", "ends"], ["past"]),
        make("Sub", ["past", "ends"], ["rows"]), make("Unsqueeze", ["rows", "one"], ["column"]),
        make("Expand", ["column", "wide"], ["wide_rows"]),
    ]  # fmt: skip
    indices = {"Gather": "rows", "GatherND": "column", "ScatterND": "column"}.get(op, "wide_rows")
    nodes.append(make(op, ["x", indices, *(["updates"] if op.startswith("Scatter") else [])], ["y"]))
    constants: dict[str, Operand] = {
        "zero": np.array([0]), "one": np.array([1]), "ends": np.array([0, 1]), "wide": np.array([2, 3]),
    }  # fmt: skip
    constants["updates"] = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    proto = model(nodes, [value("x", ["n", 3])], ["y"], constants)
    compiled = JitModel(lower_graph(optimize(checked_import(proto, dims={"n": Range(2, 7)})), host_machine()))
    for n in (2, 5, 7):
        feeds = {"x": np.arange(3 * n, dtype=np.float32).reshape(n, 3)}
        np.testing.assert_array_equal(compiled.run(feeds)["y"], onnxruntime(proto, feeds)[0])


def test_an_extent_and_what_a_run_finds_are_one_extent() -> None:
    """As a graph network puts a loop at each node behind the edges that it keeps, and counts both."""
    nodes = [
        make("Greater", ["x", "nothing"], ["kept"]), make("NonZero", ["kept"], ["table"]),
        make("Squeeze", ["table", "zero"], ["some"]), make("Shape", ["some"], ["count"]),
        make("Shape", ["x"], ["n"]), make("Squeeze", ["n", "zero"], ["limit"]),
        make("Range", ["first", "limit", "step"], ["each"]), make("Concat", ["some", "each"], ["all"], axis=0),
        make("Add", ["count", "n"], ["both"]), make("Expand", ["two", "both"], ["twos"]),
        make("Gather", ["x", "all"], ["taken"]), make("Mul", ["taken", "twos"], ["y"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        "nothing": np.float32(0), "zero": np.array([0]), "first": np.array(0), "step": np.array(1),
        "two": np.array([2], np.float32),
    }  # fmt: skip
    proto = model(nodes, [value("x", ["n"])], ["y"], constants)
    compiled = JitModel(lower_graph(optimize(checked_import(proto, dims={"n": Range(1, 7)})), host_machine()))
    rng = np.random.default_rng(4)
    for n in (1, 2, 5, 7):
        feeds = {"x": rng.standard_normal(n).astype(np.float32)}
        np.testing.assert_array_equal(compiled.run(feeds)["y"], onnxruntime(proto, feeds)[0])


@pytest.mark.parametrize("op", ["Shape", "Size"])
def test_a_list_of_numbers_that_nothing_is_known_of_is_as_long_in_each_run(op: str) -> None:
    """PyTorch's exporter asks how many amounts of padding there are."""
    nodes = [
        make("Shape", ["x"], ["n"]), make("Cast", ["n"], ["real"], to=onnx.TensorProto.FLOAT),
        make("Sqrt", ["real"], ["root"]), make("Cast", ["root"], ["whole"], to=onnx.TensorProto.INT64),
        make("Concat", ["whole", "n"], ["list"], axis=0), make(op, ["list"], ["length"]),
        make("Reshape", ["length", "one"], ["shape"]), make("Expand", ["largest", "shape"], ["y"]),
    ]  # fmt: skip
    nodes.insert(0, make("ReduceMax", ["x"], ["largest"], keepdims=1))
    proto = model(nodes, [value("x", ["n"])], ["y"], {"one": np.array([1])}, opset=13)
    compiled = JitModel(lower_graph(optimize(checked_import(proto, dims={"n": Range(1, 20)})), host_machine()))
    for n in (1, 5, 20):
        feeds = {"x": np.arange(n, dtype=np.float32)}
        np.testing.assert_array_equal(compiled.run(feeds)["y"], onnxruntime(proto, feeds)[0])


def test_extents_out_of_range() -> None:
    case = RANGED["mlp"]()
    compiled = JitModel(lower_graph(optimize(checked_import(case.proto, dims=case.ranges)), host_machine()))
    with pytest.raises(CcmlError, match=r"batch is 9, not in 1\.\.8") as caught:
        compiled.run({"x": np.zeros((9, 9), np.float32)})
    assert caught.value.kind is ErrorCode.BAD_INPUT


def _choice() -> list[onnx.NodeProto]:
    """One row is squeezed."""
    unknown = onnx.TypeProto()
    then = [make("Squeeze", ["x", "first"], ["t"])]
    squeezed = helper.make_graph(then, "then", [], [helper.make_value_info("t", unknown)])
    kept = helper.make_graph([make("Identity", ["x"], ["e"])], "else", [], [helper.make_value_info("e", unknown)])
    return [
        make("Shape", ["x"], ["s"], end=1), make("Equal", ["s", "one"], ["c"]),
        make("If", ["c"], ["y"], then_branch=squeezed, else_branch=kept),
    ]  # fmt: skip


_EXTENT = [make("Shape", ["x"], ["s"], end=1), make("Squeeze", ["s"], ["n0"])]

SATURATED = [
    *_EXTENT, make("Cast", ["n0"], ["f"], to=TensorProto.FLOAT), make("QuantizeLinear", ["f", "scale"], ["q"]),
    make("DequantizeLinear", ["q", "scale"], ["k"]), make("Mul", ["x", "k"], ["y"]),
]  # fmt: skip
"""Equal at the extents 5 and 6, and other ones below."""

LARGEST = [
    *_EXTENT, make("Range", ["zero", "n0", "one"], ["r"]), make("ReduceMax", ["r"], ["m"], keepdims=0),
    make("Less", ["m", "three"], ["c"]), make("Cast", ["c"], ["k"], to=TensorProto.FLOAT),
    make("Mul", ["x", "k"], ["y"]),
]  # fmt: skip

EQUAL_AT_LARGE_EXTENTS: Mapping[str, tuple[list[onnx.NodeProto], dict[str, Operand]]] = {
    "saturated": (SATURATED, {"scale": np.float32(0.01)}),
    "largest": (LARGEST, {"zero": np.array(0), "one": np.array(1), "three": np.array(3)}),
}


@pytest.mark.parametrize("name", EQUAL_AT_LARGE_EXTENTS)
def test_constants_that_are_equal_at_large_extents(name: str) -> None:
    nodes, constants = EQUAL_AT_LARGE_EXTENTS[name]
    proto = model(nodes, [value("x", ["n", 4])], ["y"], constants)
    compiled = JitModel(lower_graph(optimize(checked_import(proto, dims={"n": Range(1, 6)})), host_machine()))
    for n in range(1, 7):
        feeds = {"x": np.random.default_rng(n).standard_normal((n, 4)).astype(np.float32)}
        np.testing.assert_allclose(compiled.run(feeds)["y"], onnxruntime(proto, feeds)[0], rtol=1e-6)


def _kept_or_not() -> list[onnx.NodeProto]:
    """One row becomes a column of rows, others are a matrix: it is not known which rank is meant."""
    *tested, chosen = _choice()
    for branch in chosen.attribute:
        branch.g.node[0].op_type = {"then_branch": "Unsqueeze", "else_branch": "Identity"}[branch.name]
    return [*tested, chosen, make("MatMul", ["y", "w"], ["z"]), make("Transpose", ["z"], ["t"], perm=[1, 0])]


REFUSED = {
    "element": ([make("Gather", ["x", "some"], ["y"], axis=0)], {"some": np.array(3)}, "takes a part of"),
    "branch": (_choice(), {"one": np.array([1]), "first": np.array([0])}, "a condition that depends on the extent"),
    "rank": (_kept_or_not(), {"one": np.array([1]), "first": np.array([1]), "w": np.ones((4, 2), np.float32)},
             "a condition that depends on the extent"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_an_extent_otherwise_is_refused(name: str) -> None:
    nodes, constants, reason = REFUSED[name]
    proto = model(nodes, [value("x", ["n", 4])], ["y"], constants)
    with pytest.raises(CcmlError) as caught:
        import_model(proto, dims={"n": Range(1, 6)})
    assert caught.value.kind is ErrorCode.UNSUPPORTED_FEATURE and caught.value.hint is not None
    assert reason in caught.value.reason


def test_an_extent_that_is_never_1_decides() -> None:
    constants = {"one": np.array([1]), "first": np.array([0])}
    proto = model(_choice(), [value("x", ["n", 4])], ["y"], constants)
    graph = import_model(proto, dims={"n": Range(2, 6)})
    assert graph.outputs[0].shape == (6, 4) and not any(node.op == "if" for node in graph.nodes)


@pytest.mark.parametrize(("input_", "output"), [("x", "n"), ("n", "y"), ("x", "y")])
def test_tensors_that_are_called_as_a_dimension_keep_their_name(input_: str, output: str) -> None:
    """Names of dimensions and of tensors have nothing to do with each other."""
    nodes = [make("Relu", [input_], ["n" if output == "y" != input_ == "x" else "t"])]
    nodes.append(make("Neg", list(nodes[0].output), [output]))
    graph = checked_import(model(nodes, [value(input_, ["n", 2])], [output]), dims={"n": Range(1, 3)})
    compiled = JitModel(lower_graph(optimize(graph), host_machine()))
    x = np.array([[-1, 2], [3, -4]], np.float32)
    found = compiled.run({input_: x})
    assert list(found) == [output]
    np.testing.assert_array_equal(found[output], -np.maximum(x, 0))


@pytest.mark.parametrize("wrong", [Range(-1, 4), Range(5, 4), Range(0, 0)])
def test_ranges_without_extents(wrong: Range) -> None:
    with pytest.raises(CcmlError) as caught:
        import_model(RANGED["mlp"]().proto, dims={"batch": wrong})
    assert caught.value.kind is ErrorCode.BAD_OPTION


def test_a_model_that_takes_multiples_only_says_so() -> None:
    """As nets of windows do, whose reshapes split an image into whole ones."""
    nodes = [
        make("Shape", ["x"], ["s"]), make("Div", ["s", "four"], ["n"]),
        make("Concat", ["n", "four"], ["shape"], axis=0), make("Reshape", ["x", "shape"], ["y"]),
    ]  # fmt: skip
    proto = model(nodes, [value("x", ["n"])], ["y"], {"four": np.array([4])})
    with pytest.raises(CcmlError, match="does not take every extent of its ranges") as raised:
        import_model(proto, {"n": Range(4, 16)})
    assert raised.value.kind is ErrorCode.UNSUPPORTED_FEATURE and "--dim NAME=N" in (raised.value.hint or "")


@pytest.mark.parametrize("node", [make("Concat", ["x", "z", "w"], ["y"], axis=1), make("Sum", ["x", "z", "w"], ["y"])])
def test_dimensions_that_a_node_demands_to_be_equal_are_one(node: onnx.NodeProto) -> None:
    """As Keras gives the batch of each input a name of its own."""
    names = {"x": "b1", "z": "b2", "w": "b3"}
    proto = model([node], [value(name, [dim, 3]) for name, dim in names.items()], ["y"])
    ranges = dict.fromkeys(names.values(), Range(1, 5))
    compiled = JitModel(lower_graph(optimize(checked_import(proto, dims=ranges)), host_machine()))
    for batch in (1, 4):
        feeds = {name: np.full((batch, 3), ord(name), np.float32) for name in names}
        np.testing.assert_array_equal(compiled.run(feeds)["y"], onnxruntime(proto, feeds)[0])
    with pytest.raises(CcmlError, match=r"b1: different extents: [xw] has 2, z has 3"):
        compiled.run({name: np.zeros((2 + (name == "z"), 3), np.float32) for name in names})


def test_what_is_wrong_with_a_model_at_its_bounds_is_said_first() -> None:
    nodes = [make("Reshape", ["x", "shape"], ["y"])]
    proto = model(nodes, [value("x", ["n"])], ["y"], {"shape": np.array([7, 5])})
    with pytest.raises(CcmlError) as raised:
        import_model(proto, {"n": Range(4, 16)})
    assert raised.value.kind is ErrorCode.SHAPE_MISMATCH and "f32[16]" in raised.value.reason
