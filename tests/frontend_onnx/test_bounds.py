"""``--max``: ranges, rows of loops and shapes whose numbers a run tells, up to a bound, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from ccml.driver import ModelOptions, compile_source, import_source
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import select
from ccml.verification.c_model import CModel
from ccml.verification.emulated_model import EmulatedModel
from onnx import TensorProto, helper

from tests.frontend_onnx.compiled import onnxruntime
from tests.tools import needs

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
Value = onnx.ValueInfoProto


def value(name: str, kind: int, *shape: int | str) -> Value:
    return helper.make_tensor_value_info(name, kind, shape)


def made(nodes: Sequence[onnx.NodeProto], inputs: Sequence[Value], outputs: Sequence[Value]) -> onnx.ModelProto:
    one = onnx.numpy_helper.from_array(np.ones(2, np.float32), "one")
    go = onnx.numpy_helper.from_array(np.array(True), "go")
    read = {name for node in nodes for name in node.input} | {"one"}
    graph = helper.make_graph(nodes, "g", inputs, outputs, [each for each in (one, go) if each.name in read])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def agrees(proto: onnx.ModelProto, bounds: dict[str, int], feeds: Sequence[dict[str, np.ndarray]]) -> None:
    compiled = JitModel(lower_graph(optimize(import_model(proto, bounds=bounds)), host_machine()))
    for feed in feeds:
        for found, wanted in zip(compiled.run(feed).values(), onnxruntime(proto, feed), strict=True):
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "dtype", "numbers"),
    [
        (INT64, np.int64, [(0, 5, 1), (3, 17, 4), (5, 0, -2), (0, 0, 1), (5, 2, 1), (0, 24, 1)]),
        (FLOAT, np.float32, [(0, 5, 1), (0.5, 3.1, 0.25), (1, -1, -0.1)]),
    ],
)
def test_ranges(kind: int, dtype: type, numbers: list[tuple[float, float, float]]) -> None:
    nodes = [
        helper.make_node("Range", ["a", "b", "c"], ["y"]),
        helper.make_node("ReduceSum", ["y"], ["total"], keepdims=0),
    ]
    proto = made(nodes, [value(n, kind) for n in "abc"], [value("y", kind, "n"), value("total", kind)])
    feeds = [dict(zip("abc", (np.asarray(number, dtype) for number in each))) for each in numbers]
    agrees(proto, {"y": 24}, feeds)


@pytest.mark.parametrize("known", ["ac", "a", "c", "ab", "bc", "b"])
def test_ranges_of_which_some_numbers_are_known(known: str) -> None:
    """The first and the step above all, with which the elements are known and only how many there are is not."""
    numbers = {"a": np.asarray(2), "b": np.asarray(13), "c": np.asarray(3)}
    nodes = [helper.make_node("Range", ["a", "b", "c"], ["y"]), helper.make_node("Add", ["y", "y"], ["twice"])]
    inputs = [value(name, INT64) for name in "abc" if name not in known]
    proto = made(nodes, inputs, [value("y", INT64, "n"), value("twice", INT64, "n")])
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(numbers[name], name) for name in known)
    agrees(proto, {"y": 9}, [{each.name: numbers[each.name] for each in inputs}])


def test_ranges_of_integers_and_of_floats_to_the_same_number() -> None:
    """Two of one bound are as long as each other: a mask of lengths has numbers of both kinds."""
    nodes = [
        helper.make_node("ReduceMax", ["lengths"], ["n"], keepdims=0),
        helper.make_node("Range", ["none", "n", "step"], ["places"]),
        helper.make_node("Cast", ["n"], ["limit"], to=FLOAT), helper.make_node("Cast", ["none"], ["zero"], to=FLOAT),
        helper.make_node("Cast", ["step"], ["by"], to=FLOAT),
        helper.make_node("Range", ["zero", "limit", "by"], ["numbers"]),
        helper.make_node("Cast", ["places"], ["others"], to=FLOAT),
        helper.make_node("Mul", ["numbers", "others"], ["y"]),
    ]  # fmt: skip
    proto = made(nodes, [value("lengths", INT64, 3)], [value("y", FLOAT, "n")])
    constants = {"none": 0, "step": 2}
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(n), name) for name, n in constants.items())
    feeds = [{"lengths": np.array(each)} for each in ([3, 9, 4], [1, 0, 0], [0, 0, -2], [12, 1, 1])]
    agrees(proto, {"places": 6, "numbers": 6}, feeds)


def test_a_range_stops_at_its_bound() -> None:
    """A step of 0 makes none."""
    proto = made(
        [helper.make_node("Range", ["a", "b", "c"], ["y"])], [value(n, INT64) for n in "abc"], [value("y", INT64, "n")]
    )
    compiled = JitModel(lower_graph(optimize(import_model(proto, bounds={"y": 3})), host_machine()))
    for step, wanted in ((1, [2, 3, 4]), (-1, []), (0, [])):
        found = compiled.run(dict(a=np.array(2), b=np.array(2**62), c=np.array(step)))["y"]  # noqa: C408
        assert found.tolist() == wanted


def loop(inputs: list[str], condition: str) -> onnx.NodeProto:
    """Adds 1 to a pair, a row of its squares for each pass, as long as their sum is below ``most`` or always."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["s", "one"], ["new"]), helper.make_node("Mul", ["new", "new"], ["row"]),
            helper.make_node("ReduceSum", ["row"], ["sum"], keepdims=0),
            helper.make_node("Less", ["sum", "most"], ["below"]), helper.make_node("Identity", ["c"], ["same"]),
        ],
        "body", [value("i", INT64), value("c", BOOL), value("s", FLOAT, 2)],
        [value(condition, BOOL), value("new", FLOAT, 2), value("row", FLOAT, 2)],
    )  # fmt: skip
    return helper.make_node("Loop", inputs, ["last", "rows"], body=body, name="passes")


OUTPUTS = [value("last", FLOAT, 2), value("rows", FLOAT, "n", 2)]
INPUTS = [value("x", FLOAT, 2), value("most", FLOAT)]
X = np.array([1, 2], np.float32)


def test_rows_of_a_loop_with_a_computed_trip_count() -> None:
    proto = made([loop(["count", "", "x"], "same")], [value("count", INT64), *INPUTS], OUTPUTS)
    feeds = [{"count": np.asarray(n), "x": X, "most": np.array(0, np.float32)} for n in (1, 3, 0, 8)]
    agrees(proto, {"rows": 8}, feeds)


def test_rows_of_a_loop_with_a_computed_condition() -> None:
    proto = made([loop(["", "go", "x"], "below")], INPUTS, OUTPUTS)
    agrees(proto, {"rows": 12}, [{"x": X, "most": np.asarray(n, np.float32)} for n in (0, 30, 100)])


def test_errors() -> None:
    proto = made([loop(["", "go", "x"], "below")], INPUTS, OUTPUTS)
    for bounds, text in (({"last": 3}, "rows of a Loop"), ({"rows": 0}, "at most 0 elements")):
        with pytest.raises(CcmlError, match=text) as caught:
            import_model(proto, bounds=bounds)
        assert caught.value.kind is ErrorCode.BAD_OPTION
    with pytest.raises(CcmlError) as caught:
        import_model(proto)
    assert caught.value.hint is not None and "--max rows=N" in caught.value.hint


@pytest.mark.parametrize(
    ("mode", "coordinates"),
    [("linear", "half_pixel"), ("nearest", "asymmetric"), ("cubic", "align_corners"), ("linear", "pytorch_half_pixel")],
)
def test_images_of_computed_sizes(mode: str, coordinates: str) -> None:
    nodes = [
        helper.make_node("Cast", ["h"], ["rows"], to=INT64),
        helper.make_node("Concat", ["two", "rows", "w"], ["sizes"], axis=0),
        helper.make_node(
            "Resize", ["x", "", "", "sizes"], ["y"], mode=mode, coordinate_transformation_mode=coordinates
        ),
        helper.make_node("ReduceMax", ["y"], ["most"], axes=[2, 3]),
    ]
    inputs = [value("x", FLOAT, 1, 2, 5, 6), value("h", TensorProto.INT32, 1), value("w", INT64, 1)]
    proto = made(nodes, inputs, [value("y", FLOAT, 1, 2, "h", "w"), value("most", FLOAT, 1, 2, 1, 1)])
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2]), "two"))
    x = np.random.default_rng(0).standard_normal((1, 2, 5, 6)).astype(np.float32)
    sizes = [(5, 6), (3, 9), (12, 1), (1, 12)]
    agrees(proto, {"y": 12}, [{"x": x, "h": np.array([h], np.int32), "w": np.array([w])} for h, w in sizes])


def test_an_image_is_cut_at_the_bound_of_its_size() -> None:
    """What lies within has the places of the whole image."""
    node = helper.make_node("Resize", ["x", "", "", "s"], ["y"], mode="linear")
    x = np.arange(8, dtype=np.float32).reshape(1, 8)
    proto = made([node], [value("x", FLOAT, 1, 8), value("s", INT64, 2)], [value("y", FLOAT, "m", "n")])
    compiled = JitModel(lower_graph(optimize(import_model(proto, bounds={"y": 5})), host_machine()))
    feed = {"x": x, "s": np.array([1, 16])}
    np.testing.assert_allclose(compiled.run(feed)["y"], onnxruntime(proto, feed)[0][:, :5], rtol=1e-6)


@pytest.mark.parametrize("op", ["ConstantOfShape", "Expand"])
def test_tensors_of_computed_shapes(op: str) -> None:
    """They are joined with others, whose other dimensions they have; none is negative."""
    zero = ["zero"] if op == "Expand" else []
    nodes = [
        helper.make_node("Concat", ["h", "w"], ["shape"], axis=0),
        helper.make_node(op, [*zero, "shape"], ["y"]),
        helper.make_node("Concat", ["x", "y", "x"], ["z"], axis=0),
    ]
    inputs = [value("x", FLOAT, 2, 4), value("h", INT64, 1), value("w", INT64, 1)]
    proto = made(nodes, inputs, [value("z", FLOAT, "n", 4)])
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(1, np.float32), "zero"))
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    agrees(proto, {"y": 6}, [{"x": x, "h": np.array([h]), "w": np.array([4])} for h in (0, 1, 6)])


@pytest.mark.parametrize("op", ["Tile", "Expand"])
def test_repetitions_as_often_as_a_run_tells(op: str) -> None:
    """As torch's exporter writes repeat_interleave by a tensor: one row as often as its number says, then the next."""
    x = np.arange(6, dtype=np.float32).reshape(2, 1, 3)
    first = helper.make_node(op, ["x", "n"], ["y"])
    nodes = [first, helper.make_node("Concat", ["y", "y"], ["z"], axis=1)]
    inputs = [value("x", FLOAT, 2, 1, 3), value("n", INT64, 3)]
    counts = (0, 1, 5)
    feeds = [{"x": x, "n": np.array([1, n, 1] if op == "Tile" else [2, n, 1])} for n in counts]
    agrees(made(nodes, inputs, [value("y", FLOAT, "a", "b", "c"), value("z", FLOAT, "a", "d", "c")]), {"y": 6}, feeds)


def test_dimensions_of_1_beside_one_that_a_run_finds() -> None:
    """One row is chosen or none, as imputers do with a batch of 1; the other dimensions of 1 are there anyway."""
    nodes = [
        helper.make_node("Compress", ["x", "c"], ["few"], axis=0),
        helper.make_node("Unsqueeze", ["few", "axes"], ["apart"]),
        helper.make_node("Squeeze", ["apart", "first"], ["y"]),
        helper.make_node("Unsqueeze", ["y", "first"], ["z"]),
    ]  # fmt: skip
    inputs = [value("x", FLOAT, 1, 3), value("c", BOOL, 1)]
    results = [value("y", FLOAT, "n", 1, 3), value("z", FLOAT, 1, "n", 1, 3)]
    proto = made(nodes, inputs, results)
    for name, axes in (("axes", [0, 2]), ("first", [0])):
        proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(axes), name))
    agrees(proto, {}, [{"x": np.ones((1, 3), np.float32), "c": np.array([c])} for c in (True, False)])


def test_what_has_no_bound_says_how_to_give_one() -> None:
    node = helper.make_node("ConstantOfShape", ["s"], ["y"])
    with pytest.raises(CcmlError, match="--max y=N"):
        import_model(made([node], [value("s", INT64, 2)], [value("y", FLOAT, "m", "n")]))


def with_constants(proto: onnx.ModelProto, **arrays: np.ndarray) -> onnx.ModelProto:
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in arrays.items())
    return proto


SHAPES = [[2, 3, 2], [12, 1, 1], [-1, 2, 2], [0, -1, 2], [3, 0, 1], [1, 4, 3]]


@pytest.mark.parametrize("shape", SHAPES)
def test_reshapes_of_computed_shapes(shape: list[int]) -> None:
    """What is behind has the elements in the same order; 0 and -1 mean what they always do."""
    nodes = [
        helper.make_node("Reshape", ["x", "s"], ["y"]), helper.make_node("ReduceSum", ["y", "axis"], ["sum"]),
        helper.make_node("Softmax", ["y"], ["shares"], axis=1),
        helper.make_node("Concat", ["y", "y"], ["joined"], axis=2),
    ]  # fmt: skip
    results = [value(name, FLOAT, *(f"{name}{n}" for n in range(3))) for name in ("y", "sum", "shares", "joined")]
    proto = made(nodes, [value("x", FLOAT, 3, 4), value("s", INT64, 3)], results)
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    agrees(with_constants(proto, axis=np.array([1])), {"y": 12}, [{"x": x, "s": np.array(shape)}])


def test_reshapes_of_what_a_run_finds() -> None:
    """Of as many elements as are chosen, none among them; read by a matrix product, a choice of columns and a loop."""
    body = helper.make_graph(
        [helper.make_node("Add", ["before", "sum"], ["after"]), helper.make_node("Identity", ["on"], ["on_too"])], "b",
        [value("n", INT64), value("on", BOOL), value("before", FLOAT, 1, 2)],
        [value("on_too", BOOL), value("after", FLOAT, 1, 2)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Compress", ["x", "c"], ["few"], axis=0),
        helper.make_node("Concat", ["h", "two"], ["s"], axis=0),
        helper.make_node("Reshape", ["few", "s"], ["y"]), helper.make_node("MatMul", ["y", "w"], ["product"]),
        helper.make_node("Gather", ["y", "column"], ["turned"], axis=1),
        helper.make_node("ReduceSum", ["y", "first"], ["sum"]),
        helper.make_node("Loop", ["three", "", "sum"], ["looped"], body=body),
    ]  # fmt: skip
    inputs = [value("x", FLOAT, 12), value("c", BOOL, 12), value("h", INT64, 1)]
    shapes = {"y": ("m", "n"), "product": ("m", 3), "turned": ("m", 2), "looped": (1, 2)}
    proto = made(nodes, inputs, [value(name, FLOAT, *shape) for name, shape in shapes.items()])
    constants = {"two": np.array([2]), "column": np.array([1, 0]), "first": np.array([0]), "three": np.array(3)}
    with_constants(proto, w=np.ones((2, 3), np.float32), **constants)
    x = np.arange(12, dtype=np.float32)
    agrees(proto, {"y": 6}, [{"x": x, "c": np.arange(12) < 2 * rows, "h": np.array([rows])} for rows in (0, 1, 3, 6)])


@pytest.mark.parametrize("axes", [None, [1]])
def test_borders_of_computed_sizes(axes: list[int] | None) -> None:
    """Some cut; joined with others and reduced. None may be left."""
    pads = ["x", "p", "v", "axes"] if axes else ["x", "p", "v"]
    nodes = [
        helper.make_node("Pad", pads, ["y"]), helper.make_node("Concat", ["y", "y"], ["z"], axis=1),
        helper.make_node("ReduceSum", ["y", "last"], ["sum"]),
    ]  # fmt: skip
    inputs = [value("x", FLOAT, 2, 4), value("p", INT64, 2 if axes else 4)]
    proto = made(nodes, inputs, [value("y", FLOAT, "a", "b"), value("z", FLOAT, "a", "c"), value("sum", FLOAT, "a", 1)])
    proto.opset_import[0].version = 18
    with_constants(proto, v=np.float32(0.5), last=np.array([1]), **({"axes": np.array(axes)} if axes else {}))
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    chosen = [[0, 0], [1, 0], [0, 3], [-1, 2], [2, -3], [-2, -2], [1, 2]]
    feeds = [{"x": x, "p": np.array(each if axes else [0, each[0], 1, each[1]])} for each in chosen]
    agrees(proto, {"y": 7}, feeds)


def test_borders_of_what_a_run_finds() -> None:
    """Chosen rows, none among them, filled up to a number of rows that a run tells."""
    nodes = [
        helper.make_node("Compress", ["x", "c"], ["few"], axis=0), helper.make_node("Shape", ["few"], ["shape"]),
        helper.make_node("Slice", ["shape", "zero", "first"], ["rows"]),
        helper.make_node("Sub", ["n", "rows"], ["more"]),
        helper.make_node("Concat", ["none", "more", "zero"], ["p"], axis=0),
        helper.make_node("Pad", ["few", "p"], ["y"]), helper.make_node("MatMul", ["y", "w"], ["product"]),
    ]  # fmt: skip
    inputs = [value("x", FLOAT, 4, 2), value("c", BOOL, 4), value("n", INT64, 1)]
    proto = made(nodes, inputs, [value("y", FLOAT, "m", 2), value("product", FLOAT, "m", 3)])
    constants = {"zero": np.array([0]), "first": np.array([1]), "none": np.array([0, 0])}
    with_constants(proto, w=np.ones((2, 3), np.float32), **constants)
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    counts = (0, 0), (0, 3), (2, 7), (4, 4), (3, 1)
    agrees(proto, {"y": 7}, [{"x": x, "c": np.arange(4) < few, "n": np.array([n])} for few, n in counts])


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_borders_of_computed_sizes_that_continue(mode: str) -> None:
    nodes = [
        helper.make_node("Pad", ["x", "p"], ["y"], mode=mode), helper.make_node("Concat", ["y", "y"], ["z"], axis=1),
    ]  # fmt: skip
    proto = made(nodes, [value("x", FLOAT, 2, 4), value("p", INT64, 4)],
                 [value("y", FLOAT, 2, "b"), value("z", FLOAT, 2, "c")])  # fmt: skip
    proto.opset_import[0].version = 19
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    agrees(proto, {"y": 8}, [{"x": x, "p": np.array([0, a, 0, b])} for a, b in ((0, 0), (1, 0), (2, 2), (3, 1))])


def test_borders_of_what_a_run_finds_are_constant() -> None:
    nodes = [
        helper.make_node("Compress", ["x", "c"], ["few"], axis=0),
        helper.make_node("Pad", ["few", "p"], ["y"], mode="edge"),
    ]  # fmt: skip
    inputs = [value("x", FLOAT, 4), value("c", BOOL, 4), value("p", INT64, 2)]
    with pytest.raises(CcmlError, match="Pad of mode edge") as caught:
        import_model(made(nodes, inputs, [value("y", FLOAT, "m")]), bounds={"y": 9})
    assert caught.value.hint is not None and "--dim" in caught.value.hint


@needs("gcc", "qemu-system-arm", "arm-none-eabi-gcc")
def test_computed_shapes_by_all_routes() -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "s"], ["r"]), helper.make_node("Pad", ["r", "p"], ["y"]),
        helper.make_node("Softmax", ["y"], ["z"], axis=0),
    ]  # fmt: skip
    inputs = [value("x", FLOAT, 6), value("s", INT64, 2), value("p", INT64, 4)]
    proto = made(nodes, inputs, [value("z", FLOAT, "m", "n")])
    source = import_source("m.onnx", proto, ModelOptions(bounds={"r": 6, "y": 8}))
    here, there = (compile_source(source, machine) for machine in (host_machine(), select("cortex-m4")))
    x = np.random.default_rng(0).standard_normal(6).astype(np.float32)
    shapes = [([2, 3], [0, 0, 0, 0]), ([-1, 1], [1, 0, 1, 1]), ([1, 6], [0, 1, 2, -3])]
    sources = CModel(here.program, here.machine)
    for shape, pads in shapes:
        feed = {"x": x, "s": np.array(shape), "p": np.array(pads)}
        (wanted,) = onnxruntime(proto, feed)
        for run in (sources.run, EmulatedModel(there, "c").run, EmulatedModel(there, "llvm").run):
            np.testing.assert_allclose(run(feed)["z"], wanted, rtol=1e-5, atol=1e-6)
