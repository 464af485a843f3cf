"""From a float graph to quantize and dequantize pairs, end to end."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.graph import Graph, Node
from ccml.ir.types import DType
from ccml.passes.integerize import integerize_with_report
from ccml.quantization import LayerOptions, Precision, QuantizedModel, QuantizeOptions, RangeMethod, quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.options import ACTIVATIONS
from ccml.quantization.quantize import sqnr
from ccml.quantization.recurrences import MOST_STEPS

from tests.quantize.networks import Network, classifier, ops_of, samples_for, stored_of


def quality(model: QuantizedModel, graph: Graph, seed: int = 7) -> float:
    """SQNR of the outputs on samples that were not used for calibration; the least of all outputs."""
    samples = samples_for(graph, 16, seed)
    wanted, found = evaluate_samples(graph, samples), evaluate_samples(model.graph, samples)
    return min(sqnr(found[name], array) for name, array in wanted.items())


def makers(graph: Graph) -> Mapping[str, Node]:
    return graph.producers()


def test_what_does_not_depend_on_inputs() -> None:
    """A constant among the outputs, and what is computed of constants alone."""
    net = Network((1, 3, 6, 6))
    window = net.constant(np.arange(4, dtype=np.float32), "window")
    turned = net.op("reshape", window, shape=(2, 2))
    graph = net.graph(net.conv(net.x, 2), turned)
    found = evaluate_samples(quantize_graph(graph, samples_for(graph)).graph, samples_for(graph))
    assert np.array_equal(found[turned.name], np.broadcast_to([[0, 1], [2, 3]], (8, 2, 2)))


def test_layers_of_integers_stay_as_they_are() -> None:
    net = Network((1, 3, 6, 6))
    stored = net.op("cast", net.x, to=DType.I8)
    w = net.constant(np.ones((2, 3, 1, 1), np.int8), "w")
    window = {"stride": (1, 1), "pad": (0,) * 4, "dilation": (1, 1), "group": 1, "layout": "channels_first"}
    graph = net.graph(net.op("conv", stored, w, zero_point=0, **window), net.conv(net.x, 2))
    model = quantize_graph(graph, samples_for(graph))
    assert evaluate_samples(model.graph, samples_for(graph))["conv_1"].dtype == np.int32


@pytest.mark.filterwarnings("error")
def test_choices_that_infinities_leave_out() -> None:
    """What is infinite has no range, and stays in float; the layer before is quantized, judged by what is finite."""
    net = Network((4, 6))
    scores = net.dense(net.x, 5)
    left = net.op("where", net.op("gt", scores, net.number(0)), scores, net.number(-np.inf))
    graph = net.graph(net.op("top_k", left, axis=1, k=2, largest=True), scores)
    model = quantize_graph(graph, samples_for(graph))
    assert "quantize" in ops_of(model.graph)
    assert quality(model, net.graph(scores)) > 30


@pytest.mark.filterwarnings("error")
def test_masked_results() -> None:
    """Where a result is infinite it says nothing of the quality, which is that of the others."""
    net = Network((4, 6))
    scores = net.dense(net.x, 5)
    kept = net.constant(np.array([True, False, True, True, False]), "kept")
    graph = net.graph(net.op("where", kept, scores, net.number(-np.inf)))
    model = quantize_graph(graph, samples_for(graph))
    assert 30 < quality(model, graph) < 80


def test_the_form_of_a_quantized_layer() -> None:
    """x and weights are dequantized, the bias too; the result is quantized behind the relu."""
    net = Network((1, 3, 6, 6))
    graph = net.graph(net.conv(net.relu(net.conv(net.x, 4)), 2))
    model = quantize_graph(graph, samples_for(graph))
    first, second = (node for node in model.graph.nodes if node.op == "conv")
    producers = makers(model.graph)
    x, w, b = (producers[value.name] for value in first.operands)
    assert (x.op, w.op, b.op) == ("dequantize", "dequantize", "dequantize")
    assert producers[x.operands[0].name].op == "quantize"
    assert model.graph.constants[w.operands[0].name].dtype == np.int8
    assert (w.attrs["axis"], len(w.attrs["scale"])) == (0, 4)  # type: ignore[arg-type]
    assert model.graph.constants[b.operands[0].name].dtype == np.int32
    (step,) = x.attrs["scale"]  # type: ignore[misc]
    expected = np.float32(step) * np.asarray(w.attrs["scale"], np.float32)
    assert np.array_equal(np.asarray(b.attrs["scale"], np.float32), expected)
    assert stored_of(model.graph) == {"x": DType.I8, "relu_1": DType.I8}
    assert model.graph.outputs[0] == second.output


def test_the_whole_network_becomes_integers() -> None:
    graph = classifier()
    model = quantize_graph(graph, samples_for(graph, 16))
    assert quality(model, graph) > 25
    _, kept = integerize_with_report(model.graph)
    assert [each.op for each in kept] == ["softmax"]


def unequal(size: int = 8) -> Graph:
    """Channels of a depthwise chain that differ by factors up to 50."""
    net = Network((1, 4, size, size))
    spread = np.geomspace(1, 50, 8, dtype=np.float32).reshape(8, 1, 1, 1)
    scaled = net.constant(net.rng.standard_normal((8, 4, 3, 3)).astype(np.float32) * spread, "w")
    window = {"stride": (1, 1), "pad": (1,) * 4, "dilation": (1, 1), "layout": "channels_first"}
    first = net.relu(net.op("conv", net.x, scaled, None, group=1, **window))
    depthwise = net.constant(net.rng.standard_normal((8, 1, 3, 3)).astype(np.float32) / spread, "d")
    middle = net.relu(net.op("conv", first, depthwise, None, group=8, **window))
    return net.graph(net.conv(middle, 3, kernel=1))


def test_an_unequal_network_gains_by_equalizing() -> None:
    graph = unequal()
    plain, equalized = (
        quality(quantize_graph(graph, samples_for(graph, 16), QuantizeOptions(equalize=on, min_sqnr=0)), graph)
        for on in (False, True)
    )
    assert equalized > plain + 6


def test_a_model_that_bytes_would_spoil_gets_16_bits_unasked() -> None:
    """What needs them is too large to have them in any model."""
    graph = unequal(size=24)
    model = quantize_graph(graph, samples_for(graph, 16), QuantizeOptions(equalize=False))
    assert quality(model, graph) > 20
    assert model.mixed is not None
    assert {step.precision for step in model.mixed.steps} == {Precision.INT16}
    assert DType.I8 in stored_of(model.graph).values()


@pytest.mark.parametrize("activations", list(ACTIVATIONS))
def test_kinds_of_activations(activations: str) -> None:
    graph = classifier()
    model = quantize_graph(graph, samples_for(graph), QuantizeOptions(activations=activations, min_sqnr=0))
    dtype, symmetric = ACTIVATIONS[activations]
    assert set(stored_of(model.graph).values()) == {dtype}
    zero_points = {node.attrs["zero_point"] for node in model.graph.nodes if node.op == "quantize"}
    assert (zero_points == {(0,)}) == symmetric
    assert quality(model, graph) > (40 if activations == "int16" else 18)


def attention(length: int) -> Graph:
    """softmax(x x1) x2 with a layer of weights behind."""
    net = Network((1, 4, 8), (1, 8, length), (1, length, 4))
    probabilities = net.op("softmax", net.op("matmul", net.x, net.inputs[1]), axis=2)
    return net.graph(net.dense(net.op("matmul", probabilities, net.inputs[2]), 3))


@pytest.mark.parametrize(("length", "wide"), [(16, {"x", "softmax_1", "matmul_2"}), (300, {"x", "matmul_2"})])
def test_products_of_computed_tensors_keep_bytes_where_sums_would_not_fit(length: int, wide: set[str]) -> None:
    graph = attention(length)
    model = quantize_graph(graph, samples_for(graph), QuantizeOptions(activations="int16"))
    stored = stored_of(model.graph)
    assert {name for name, dtype in stored.items() if dtype is DType.I16} >= wide
    assert {"x1", "x2"} <= {name for name, dtype in stored.items() if dtype is DType.I8}
    assert (stored["softmax_1"] is DType.I16) == ("softmax_1" in wide)
    integerize_with_report(model.graph)
    assert quality(model, graph) > 20


@pytest.mark.parametrize("method", list(RangeMethod))
def test_range_methods(method: RangeMethod) -> None:
    graph = classifier()
    options = QuantizeOptions(range_method=method, percentile=99.9)
    assert quality(quantize_graph(graph, samples_for(graph, 16), options), graph) > 12


def test_an_integer_interface() -> None:
    graph = classifier()
    model = quantize_graph(graph, samples_for(graph), QuantizeOptions(integer_io=True))
    (x,), (y,) = model.graph.inputs, model.graph.outputs
    assert (x.name, x.dtype, y.name, y.dtype) == ("x", DType.I8, "softmax_10", DType.I8)
    assert x.type.quant is not None
    assert y.type.quant is not None
    assert ops_of(model.graph)[-2:] == ["softmax", "quantize"]
    assert quality(model, graph) > 20


def test_an_output_that_is_read_inside_too_is_what_is_stored() -> None:
    net = Network((1, 8))
    hidden = net.relu(net.dense(net.x, 6))
    graph = net.graph(hidden, net.dense(hidden, 3))
    model = quantize_graph(graph, samples_for(graph))
    assert [value.name for value in model.graph.outputs] == ["relu_1", "matmul_2"]
    assert makers(model.graph)["relu_1"].op == "dequantize"


def test_a_factor_is_read_with_another_scale() -> None:
    net = Network((1, 4, 8), (1, 8, 4))
    scores = net.op("mul", net.op("matmul", net.x, net.inputs[1]), net.number(0.25))
    graph = net.graph(net.dense(net.op("softmax", scores, axis=2), 2))
    model = quantize_graph(graph, samples_for(graph))
    assert "mul" not in ops_of(model.graph)
    pair = {node.op: node.attrs["scale"][0] for node in model.graph.nodes if "mul_1" in node.output.name}  # type: ignore[index]
    assert pair["dequantize"] == pytest.approx(0.25 * pair["quantize"], rel=1e-6)
    assert quality(model, graph) > 30


def test_a_recurrence_that_stays_float_reads_what_is_not_rounded() -> None:
    """Neither its input nor its weights: it would only add noise."""
    steps = MOST_STEPS + 1
    net = Network((steps, 1, 8))
    attrs = {"hidden": 4, "direction": "forward", "activations": ("Sigmoid", "Tanh", "Tanh"), "clip": 9.0}
    operands = [net.x, net.weights(1, 16, 8), net.weights(1, 16, 4), net.weights(1, 32)]
    y, _, _ = net.emit("lstm", operands, {**attrs, "input_forget": False}, names=["y", "h", "c"])
    graph = net.graph(net.dense(net.op("reshape", y, shape=(steps, 4)), 2))
    model = quantize_graph(graph, samples_for(graph))
    lstm = next(node for node in model.graph.nodes if node.op == "lstm")
    assert not any(value.name in makers(model.graph) for value in lstm.operands)
    assert quality(model, graph) > 20


# ---------------------------------------------------------------- single layers


def with_layers(**layers: LayerOptions) -> QuantizeOptions:
    return QuantizeOptions(layers=layers)


def test_a_layer_may_stay_in_float() -> None:
    graph = classifier()
    model = quantize_graph(graph, samples_for(graph), with_layers(conv_2=LayerOptions(Precision.FLOAT)))
    conv = next(node for node in model.graph.nodes if node.loc == "conv_2")
    weights = model.graph.constants[conv.operands[1].name]
    assert weights.dtype == np.float32


def test_a_result_may_have_16_bits() -> None:
    """By the name of the layer that makes it, or of the input."""
    graph = classifier()
    options = with_layers(conv_2=LayerOptions(Precision.INT16), x=LayerOptions(Precision.INT16))
    stored = stored_of(quantize_graph(graph, samples_for(graph), replace(options, min_sqnr=0)).graph)
    assert {name for name, dtype in stored.items() if dtype is DType.I16} == {"x", "relu_3"}


def test_a_result_may_have_a_range_of_its_own() -> None:
    graph = classifier()
    samples = samples_for(graph)
    options = replace(with_layers(conv_0=LayerOptions(range_method=RangeMethod.MIN_MAX)), equalize=False)
    model = quantize_graph(graph, samples, options)
    quantize = next(node for node in model.graph.nodes if node.op == "quantize" and node.output.name == "relu_1.q")
    highest = max(evaluate(graph, sample)["relu_1"].max() for sample in samples)
    assert quantize.attrs["scale"][0] == pytest.approx(highest / 255, rel=1e-5)  # type: ignore[index]


def evaluate(graph: Graph, sample: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    from ccml.ops.evaluate import evaluate_graph

    return evaluate_graph(graph, sample)


def test_options_from_a_project_file() -> None:
    table: dict[str, object] = {"precision": "int16", "range": "min-max", "percentile": 99.9, "rounding": "nearest"}
    table["bias-correction"] = False
    options = LayerOptions.from_table("conv1", table)
    assert options == LayerOptions(Precision.INT16, RangeMethod.MIN_MAX, 99.9, False, False)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"precison": "int16"}, "there is no option 'precison'"),
        ({"precision": "int4"}, "precision = 'int4' is not one of int8, int16, float"),
        ({"range": 3}, "range = 3 is not one of"),
        ({"percentile": 120}, "percentile = 120 is not a number from 50 to 100"),
        ({"rounding": "up"}, "rounding = 'up' is not adaptive or nearest"),
        ({"bias-correction": 1}, "bias-correction = 1 is not true or false"),
    ],
)
def test_wrong_options_of_a_layer(table: dict[str, object], text: str) -> None:
    with pytest.raises(CcmlError, match=text) as error:
        LayerOptions.from_table("conv1", table)
    assert error.value.kind is ErrorCode.BAD_OPTION
    assert error.value.loc == '[quantize.layers."conv1"]'


# ---------------------------------------------------------------- what is refused


def refused(graph: Graph, kind: ErrorCode, options: QuantizeOptions | None = None, **samples: object) -> CcmlError:
    with pytest.raises(CcmlError) as error:
        quantize_graph(graph, samples_for(graph, **samples), options or QuantizeOptions())  # type: ignore[arg-type]
    assert error.value.kind is kind
    return error.value


def test_an_override_of_no_layer() -> None:
    error = refused(classifier(), ErrorCode.BAD_OPTION, with_layers(conv_9=LayerOptions()))
    assert error.loc == '[quantize.layers."conv_9"]'
    assert "conv_0" in (error.hint or "")


def test_samples_with_nan() -> None:
    error = refused(classifier(), ErrorCode.BAD_INPUT, make=lambda rng, shape: np.full(shape, np.nan))
    assert error.loc == "x"


def test_values_that_become_infinite() -> None:
    net = Network((1, 4))
    graph = net.graph(net.dense(net.op("exp", net.dense(net.x, 4)), 2))
    error = refused(graph, ErrorCode.BAD_INPUT, make=lambda rng, shape: np.full(shape, 500.0))
    assert error.loc == "exp_1"


def test_a_model_that_is_quantized() -> None:
    graph = classifier()
    model = quantize_graph(graph, samples_for(graph))
    assert refused(model.graph, ErrorCode.BAD_OPTION).reason == "the model is quantized already"


@pytest.mark.parametrize("wrong", [{"activations": "int4"}, {"percentile": 20.0}, {"tuning_samples": 0}])
def test_wrong_options(wrong: dict[str, object]) -> None:
    with pytest.raises(CcmlError) as error:
        QuantizeOptions(**wrong)  # type: ignore[arg-type]
    assert error.value.kind is ErrorCode.BAD_OPTION


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("layers", ["relu", "dense", "both"])
def test_tensors_without_elements_are_quantized(rows: int, layers: str) -> None:
    """There is nothing to observe, and no work; also of one row with one element."""
    net = Network((rows, 1))
    x = net.x if layers == "dense" else net.relu(net.x)
    graph = net.graph(x if layers == "relu" else net.dense(x, 3))
    samples = samples_for(graph, 40)
    (found,) = evaluate_samples(quantize_graph(graph, samples).graph, samples).values()
    (wanted,) = evaluate_samples(graph, samples).values()
    np.testing.assert_allclose(found, wanted, atol=0.1)
