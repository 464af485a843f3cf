"""Graphs as ONNX: valid, importable with the same meaning, and loadable elsewhere."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model
from ccml.frontend_onnx.export import export_model, save_graph
from ccml.ir.graph import Graph, Value
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.fourier import root_count, roots
from ccml.passes.pipeline import optimize
from ccml.quantization import LayerOptions, Precision, QuantizeOptions, quantize_graph
from ccml.quantization.execute import evaluate_samples

from tests.passes.random_graphs import RandomGraph
from tests.quantize.networks import Network, classifier, samples_for


def reimported(graph: Graph) -> Graph:
    model = export_model(graph)
    onnx.checker.check_model(model, full_check=True)
    return import_model(model)


def assert_same_outputs(graph: Graph, other: Graph) -> None:
    rng = np.random.default_rng(0)
    for _ in range(4):
        feeds = {v.name: (3 * rng.standard_normal(v.shape)).astype(v.dtype.numpy) for v in graph.inputs}
        wanted, found = evaluate_graph(graph, feeds), evaluate_graph(other, feeds)
        assert [found[v.name].tobytes() for v in graph.outputs] == [wanted[v.name].tobytes() for v in graph.outputs]


def assert_same(graph: Graph, other: Graph, exact: bool = True) -> None:
    assert [(v.name, v.type) for v in other.inputs] == [(v.name, TensorType(v.dtype, v.shape)) for v in graph.inputs]
    rng = np.random.default_rng(0)
    feeds = {v.name: (3 * rng.standard_normal(v.shape)).astype(v.dtype.numpy) for v in graph.inputs}
    wanted, found = evaluate_graph(graph, feeds), evaluate_graph(other, feeds)
    for value in graph.outputs:
        if exact:
            assert np.array_equal(found[value.name], wanted[value.name], equal_nan=value.dtype.is_float), value.name
        else:
            assert np.allclose(found[value.name], wanted[value.name], rtol=1e-5, atol=1e-5), value.name


@pytest.mark.parametrize("seed", range(25))
def test_random_graphs(seed: int) -> None:
    """Up to the rounding of a bias: MatMul and Add are two operators in ONNX."""
    graph = RandomGraph(seed).grow(12)
    assert_same(graph, reimported(graph), exact=False)


UNARY = [
    "exp", "log", "sqrt", "reciprocal", "floor", "ceil", "round", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid", "softplus", "neg", "abs", "sign", "relu",
]  # fmt: skip
BINARY = ["add", "sub", "mul", "div", "pow", "min", "max"]


@pytest.mark.parametrize("op", UNARY)
def test_one_operand(op: str) -> None:
    net = Network((2, 3, 4))
    graph = net.graph(net.op(op, net.x))
    assert_same(graph, reimported(graph))


@pytest.mark.parametrize("op", BINARY)
def test_two_operands(op: str) -> None:
    net = Network((2, 3, 4), (3, 1))
    graph = net.graph(net.op(op, *net.inputs))
    assert_same(graph, reimported(graph))


def test_logic_and_choice() -> None:
    net = Network((2, 3), (2, 3))
    x, y = net.inputs
    less, equal = net.op("lt", x, y), net.op("not", net.op("eq", x, y))
    chosen = net.op("where", net.op("xor", net.op("and", less, equal), net.op("ge", x, y)), x, y)
    special = net.op("or", net.op("isnan", net.op("log", x)), net.op("isinf", y, negative=True, positive=False))
    graph = net.graph(chosen, special, net.op("le", x, y), net.op("gt", x, y))
    assert_same(graph, reimported(graph))


def test_integers() -> None:
    net = Network((2, 6))
    whole = net.op("cast", net.x, to=DType.I32)
    bits = net.op("bitxor", net.op("bitand", whole, net.constant(np.int32(6))), net.op("bitnot", whole))
    unsigned = net.op("cast", net.op("abs", net.x), to=DType.U32)
    shifted = net.op("shl", unsigned, net.op("shr", net.constant(np.uint32(8)), net.constant(np.uint32(2))))
    remainders = [net.op("mod", whole, net.constant(np.int32(3)), fmod=fmod) for fmod in (False, True)]
    graph = net.graph(net.op("bitor", bits, whole), shifted, *remainders, net.op("clip", whole, lo=-2, hi=1))
    assert_same(graph, reimported(graph))


def test_float_remainders_and_clips() -> None:
    net = Network((2, 6))
    bounds = [(-1.0, 0.5), (0.5, float("inf")), (-float("inf"), 0.5)]
    clips = [net.op("clip", net.x, lo=lo, hi=hi) for lo, hi in bounds]
    remainders = [net.op("mod", net.x, net.number(0.75), fmod=fmod) for fmod in (True, False)]
    graph = net.graph(*clips, *remainders)
    assert_same(graph, reimported(graph), exact=False)


def test_moves() -> None:
    net = Network((2, 3, 4))
    x = net.x
    backwards = net.op("slice", x, starts=(1, 2, 3), steps=(-1, -2, -1), sizes=(2, 2, 4))
    padded = [
        net.op("pad", x, before=(0, 1, 1), after=(0, 0, 2), mode=mode, value=0.5)
        for mode in ("constant", "reflect", "edge", "wrap")
    ]
    indices = net.constant(np.array([[2, 0], [1, 1]]))
    graph = net.graph(
        backwards, *padded, net.op("gather", x, indices, axis=1), net.op("expand", x, shape=(5, 2, 3, 4)),
        net.op("concat", x, x, axis=2), net.op("transpose", x, perm=(2, 0, 1)), net.op("reshape", x, shape=(6, 4)),
    )  # fmt: skip
    assert_same(graph, reimported(graph))


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("columns", [7, 8])
def test_pooling(kind: str, ceil_mode: bool, columns: int) -> None:
    """Of 8 columns and one of padding, in steps of 3, a fourth window would begin in the padding."""
    net = Network((1, 3, 9, columns))
    window = {"kernel": (3, 2), "stride": (2, 3), "pad": (1, 0, 0, 1), "dilation": (2, 1), "layout": "channels_first"}
    graph = net.graph(net.op("pool", net.x, kind=kind, ceil_mode=ceil_mode, count_include_pad=True, **window))
    assert_same(graph, reimported(graph))


def test_reductions_and_normalizations() -> None:
    net = Network((2, 3, 4, 5))
    x = net.x
    results = [
        net.op("reduce", x, kind=kind, axes=axes, keepdims=keepdims)
        for kind in ("sum", "mean", "max", "min", "prod")
        for axes, keepdims in (((2, 3), True), ((1,), False), ((), True))
    ]
    results += [net.op("arg_reduce", x, kind=kind, axis=1, keepdims=False, last=True) for kind in ("max", "min")]
    results += [net.op(op, x, axis=2) for op in ("softmax", "log_softmax")]
    results += [net.op("cumsum", x, axis=1, exclusive=True, reverse=True)]
    normalized = [
        net.op(op, x, axes=axes, epsilon=1e-3) for op in ("normalize", "rms_normalize") for axes in ((2, 3), (0, 2))
    ]
    graph = net.graph(*results, *normalized)
    other = reimported(graph)
    assert_same(graph, other, exact=False)


@pytest.mark.parametrize("op", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize("clip", [float("inf"), 0.5])
def test_recurrences(op: str, clip: float) -> None:
    gates = {"lstm": 4, "gru": 3, "rnn": 1}[op]
    names = {"lstm": ("Sigmoid", "Tanh", "Tanh"), "gru": ("Sigmoid", "Tanh"), "rnn": ("Relu",)}[op]
    net = Network((5, 2, 3), (2, 2, 4))
    flags = {"lstm": {"input_forget": True}, "gru": {"linear_before_reset": True}, "rnn": {}}[op]
    attrs = {"hidden": 4, "direction": "bidirectional", "activations": names * 2, "clip": clip, **flags}
    weights = [net.weights(2, gates * 4, 3), net.weights(2, gates * 4, 4), None, net.inputs[1]]
    graph = net.graph(*net.emit(op, [net.x, *weights], attrs))
    assert_same(graph, reimported(graph))


def test_a_quantized_model_goes_around() -> None:
    graph = classifier()
    for options in (QuantizeOptions(), QuantizeOptions(integer_io=True), QuantizeOptions(activations="uint8")):
        model = quantize_graph(graph, samples_for(graph), options)
        other = reimported(model.graph)
        assert_same(model.graph, other)
        assert_same_outputs(optimize(model.graph), optimize(other))


def test_16_bits_need_a_newer_operator_set() -> None:
    graph = classifier()
    wide = QuantizeOptions(layers={"conv_2": LayerOptions(Precision.INT16)})
    for options, opset in ((QuantizeOptions(min_sqnr=0), 19), (wide, 21)):
        model = quantize_graph(graph, samples_for(graph), options)
        assert export_model(model.graph).opset_import[0].version == opset
        assert_same(model.graph, reimported(model.graph))


@pytest.mark.parametrize("activations", ["int8", "uint8", "int16"])
def test_onnxruntime_computes_the_same(activations: str) -> None:
    ort = pytest.importorskip("onnxruntime")
    graph = classifier()
    model = quantize_graph(graph, samples_for(graph), QuantizeOptions(activations=activations))
    session = ort.InferenceSession(export_model(model.graph).SerializeToString(), providers=["CPUExecutionProvider"])
    samples = samples_for(graph, 4, seed=3)
    (wanted,) = evaluate_samples(model.graph, samples).values()
    found = np.stack([session.run(None, {"x": x})[0] for x in samples.inputs["x"]])
    assert np.allclose(found, wanted, atol=5e-3)


def test_nodes_keep_their_names() -> None:
    graph = classifier()
    names = [node.name for node in export_model(graph).graph.node]
    assert names == [node.loc for node in graph.nodes]
    quantized = export_model(quantize_graph(graph, samples_for(graph)).graph)
    names = [node.name for node in quantized.graph.node]
    assert len(set(names)) == len(names)
    assert {"conv_0", "relu_1", "x/QuantizeLinear"} <= set(names)


def assert_onnxruntime_agrees(graph: Graph, **feeds: np.ndarray) -> None:
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(export_model(graph).SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = evaluate_graph(graph, feeds)
    for value, found in zip(graph.outputs, session.run(None, feeds), strict=True):
        assert np.allclose(found, wanted[value.name], rtol=1e-5, atol=1e-5), value.name


def places_of(net: Network, rows: int) -> Value:
    """Numbers from -1 to ``rows``, which are outside of so many rows."""
    scaled = net.op("mul", net.op("abs", net.inputs[1]), net.number(rows))
    return net.op("cast", net.op("clip", net.op("sub", scaled, net.number(1)), lo=-1.0, hi=float(rows)), to=DType.I32)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_scattered_rows_outside_are_left_out(reduction: str) -> None:
    net = Network((5, 3), (2, 2), (2, 2, 3))
    places = places_of(net, 5)
    known = net.constant(np.array([[4, 1], [0, 2]], np.int32))
    scattered = [net.op("scatter", net.x, each, net.inputs[2], reduction=reduction) for each in (places, known)]
    graph = net.graph(*scattered, places)
    assert_same(graph, reimported(graph))
    x, updates = (np.random.default_rng(n).standard_normal(shape).astype(np.float32) for n, shape in enumerate(
        ((5, 3), (2, 2, 3))))  # fmt: skip
    shares = np.array([[0.0, 0.3], [0.7, 1.4]], np.float32)
    assert evaluate_graph(graph, {"x": x, "x1": shares, "x2": updates})[places.name].tolist() == [[-1, 0], [2, 5]]
    assert_onnxruntime_agrees(graph, x=x, x1=shares, x2=updates)


@pytest.mark.parametrize("largest", [False, True])
def test_order(largest: bool) -> None:
    net = Network((3, 5, 2))
    whole = net.op("cast", net.x, to=DType.I8)
    graph = net.graph(*(net.op("top_k", x, axis=1, k=3, largest=largest) for x in (net.x, whole)))
    assert_same(graph, reimported(graph))


@pytest.mark.parametrize("border", ["zeros", "edge", "reflect"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_samples_of_images(border: str, align_corners: bool) -> None:
    net = Network((2, 5, 4, 3), (2, 6, 2))
    attrs = {"border": border, "align_corners": align_corners}
    graph = net.graph(*(net.op("sample", *net.inputs, mode=mode, **attrs) for mode in ("nearest", "linear", "cubic")))
    assert_same(graph, reimported(graph), exact=False)


@pytest.mark.parametrize("border", ["zeros", "edge"])
def test_samples_of_volumes(border: str) -> None:
    """They need a newer operator set, in which modes have other names, also those of images beside them."""
    net = Network((2, 5, 4, 3, 2), (2, 6, 3), (2, 5, 4, 3), (2, 6, 2))
    attrs = {"border": border, "align_corners": False}
    volumes = [net.op("sample", *net.inputs[:2], mode=mode, **attrs) for mode in ("nearest", "linear")]
    graph = net.graph(*volumes, net.op("sample", *net.inputs[2:], mode="cubic", **attrs))
    assert_same(graph, reimported(graph), exact=False)
    rng = np.random.default_rng(3)
    assert_onnxruntime_agrees(graph, **{v.name: rng.standard_normal(v.shape).astype(np.float32) for v in graph.inputs})


def test_running_products_need_a_later_operator_set() -> None:
    net = Network((2, 3))
    with pytest.raises(CcmlError, match="CumProd needs operator set 26"):
        export_model(net.graph(net.op("cumprod", net.x, axis=1, exclusive=False, reverse=False)))


def test_parts_of_regions() -> None:
    net = Network((2, 6, 5, 3), (3, 4))
    batch = net.constant(np.array([1, 0, 1], np.int32))
    attrs = {"height": 2, "width": 3, "scale": 0.5}
    graph = net.graph(
        net.op("roi_align", *net.inputs, batch, samples=2, half_pixel=True, kind="avg", **attrs),
        net.op("roi_align", *net.inputs, batch, samples=0, half_pixel=False, kind="max", **attrs),
    )
    assert_same(graph, reimported(graph))


def test_places_of_the_greatest_and_blocks_of_an_image() -> None:
    net = Network((2, 3, 6, 5), (1, 2, 2, 3, 2, 3))
    window = {"stride": (2, 1), "pad": (1, 0, 1, 0), "dilation": (1, 2)}
    pool = {"kernel": (2, 2), "ceil_mode": False, **window}
    places = [net.op("max_pool_index", net.x, column_major=column_major, **pool) for column_major in (False, True)]
    image = net.op("col2im", net.inputs[1], image=(4, 5), stride=(2, 1), pad=(0, 0, 0, 0), dilation=(1, 1))
    graph = net.graph(*places, image)
    assert_same(graph, reimported(graph))


def test_products_of_integers() -> None:
    net = Network((3, 4), (4, 5), (1, 2, 4, 4))
    a, b, x = (net.op("cast", value, to=DType.I8) for value in net.inputs)
    wide = [net.op("cast", value, to=DType.I32) for value in net.inputs[:2]]
    w = net.constant(np.arange(-9, 9).reshape(1, 2, 3, 3).astype(np.int8), "w")
    window = {"stride": (1, 1), "pad": (1,) * 4, "dilation": (1, 1), "group": 1, "layout": "channels_first"}
    bias = net.constant(np.arange(-2, 3, dtype=np.int32) * 1000)
    graph = net.graph(
        net.op("matmul", a, b, zero_point=3, rhs_zero_point=-2),
        net.op("matmul", a, b, bias, zero_point=3, rhs_zero_point=-2),
        net.op("matmul", *wide, zero_point=0, rhs_zero_point=0),
        net.op("matmul", *wide, bias, zero_point=0, rhs_zero_point=0),
        net.op("conv", x, w, zero_point=-5, **window),
    )  # fmt: skip
    assert_same(graph, reimported(graph))


@pytest.mark.parametrize("dtype", [DType.BF16, DType.F8E4M3FN, DType.F8E5M2, DType.I4, DType.U4])
def test_narrow_types(dtype: DType) -> None:
    net = Network((3, 4))
    graph = net.graph(net.op("cast", net.op("cast", net.op("abs", net.x), to=dtype), to=DType.F32))
    assert_same(graph, reimported(graph))


def test_onnxruntime_loads_products_of_halfwords() -> None:
    """Of tensors of several matrices, of at least sixteen columns, with its own optimizations, of which the last ones
    round otherwise."""
    ort = pytest.importorskip("onnxruntime")
    net = Network((2, 3, 16))
    shared = net.relu(net.dense(net.x, 16))
    both = net.op("add", net.dense(shared, 16), net.dense(shared, 16))
    summed = net.op("add", shared, net.dense(both, 16))
    graph = net.graph(net.dense(net.relu(summed), 5))
    samples, layers = samples_for(graph), {summed.name: LayerOptions(precision=Precision.INT16)}
    quantized = quantize_graph(graph, samples, QuantizeOptions(layers=layers)).graph
    model = export_model(quantized)
    assert model.opset_import[0].version == 21
    options, inputs = ort.SessionOptions(), {"x": samples.inputs["x"][0]}
    ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (wanted,) = evaluate_samples(quantized, samples).values()
    assert np.allclose(session.run(None, inputs)[0], wanted[0], atol=1e-5)
    assert_same(quantized, reimported(quantized), exact=False)


def test_averages_across_channels() -> None:
    """As of LRN, whose channels are the first dimension of an image."""
    net = Network((2, 5, 4, 3), (1, 6, 1, 4))
    across = {"kernel": (5, 1), "stride": (1, 1), "pad": (2, 0, 2, 0), "dilation": (1, 1), "layout": "channels_last"}
    strided = {**across, "kernel": (2, 2), "stride": (2, 1), "pad": (0, 0, 1, 0)}
    graph = net.graph(
        net.op("pool", net.inputs[1], kind="avg", ceil_mode=False, count_include_pad=True, **across),
        net.op("pool", net.x, kind="max", ceil_mode=True, count_include_pad=False, **strided),
    )
    assert_same(graph, reimported(graph), exact=False)


def test_determinants() -> None:
    net = Network((2, 3, 3))
    graph = net.graph(net.op("det", net.x))
    assert_same(graph, reimported(graph))


@pytest.mark.parametrize(("parts", "count"), [(1, 9), (1, 4), (2, 16), (2, 7)])
def test_spectra(parts: int, count: int) -> None:
    net = Network((2, 16, parts))
    roots_of_unity = net.constant(roots(16, root_count(16)).astype(np.float32))
    graph = net.graph(net.op("fft", net.x, roots_of_unity, count=count))
    assert_same(graph, reimported(graph), exact=False)


def test_what_onnx_does_not_have(tmp_path: Path) -> None:
    net = Network((1, 4, 4, 3))
    attrs = {"stride": (1, 1), "pad": (0,) * 4, "dilation": (1, 1), "group": 1, "layout": "channels_last"}
    last = net.graph(net.op("conv", net.x, net.weights(2, 1, 1, 3), **attrs))
    stored = Value("q", TensorType(DType.I8, (1, 2)))
    integer = Network((1, 2))
    integer.inputs = [stored]
    product = integer.op("matmul", stored, integer.constant(np.ones((2, 2), np.int16)), zero_point=3)
    for graph, loc in ((last, "conv_0"), (integer.graph(product), "matmul_0")):
        with pytest.raises(CcmlError) as error:
            save_graph(graph, tmp_path / "m.onnx")
        assert (error.value.kind, error.value.loc) == (ErrorCode.UNSUPPORTED_FEATURE, loc)


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(CcmlError) as error:
        save_graph(classifier(), tmp_path / "none" / "m.onnx")
    assert error.value.kind is ErrorCode.OUTPUT_FOLDER
