"""Mixed precision by budgets: limits are kept and made use of, and what cannot be is told with what can."""

import re

import numpy as np
import pytest
from ccml.driver import compile_source, import_source
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx.export import export_model
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.quantization import LayerOptions, QuantizedModel, QuantizeOptions, Raise, quantize_graph
from ccml.quantization.execute import evaluate_samples
from ccml.quantization.meter import Meter, Price
from ccml.quantization.quantize import sqnr
from ccml.report.budget import Need

from tests.quantize.networks import Network, classifier, samples_for

GRAPH = classifier(softmax=False)
SAMPLES, TEST = samples_for(GRAPH, 12), samples_for(GRAPH, 12, seed=5)


def stored_bytes(graph: Graph) -> int:
    """Of all tensors that the graph writes down, of what layers in float make, and of its constants in nibbles where
    they fit these."""
    stored = {node.output.name for node in graph.nodes if node.op == "dequantize"}
    tensors = sum(
        node.output.type.nbytes for node in graph.nodes
        if node.op == "quantize" or (node.op in ("conv", "matmul") and node.operands[0].name not in stored)
    )  # fmt: skip
    return tensors + sum(map(_packed, graph.constants.values()))


def _packed(array: np.ndarray) -> int:
    nibbles = array.dtype == np.int8 and array.size >= 256 and array.min() >= -8 and array.max() <= 7
    return array.nbytes // 2 if nibbles else array.nbytes


def meter(limit: float) -> Meter:
    """A device on which a byte takes a cycle, and that has flash for ``limit``."""
    return lambda graph: Price(
        stored_bytes(graph), None, stored_bytes(graph), 0, {}, (Need("flash", stored_bytes(graph), limit),)
    )


def quantized(limit: float, **options: float) -> QuantizedModel:
    given = QuantizeOptions(**options)  # type: ignore[arg-type]
    return quantize_graph(GRAPH, SAMPLES, given, test=TEST, meter=meter(limit), steering=True)


def quality(model: QuantizedModel) -> float:
    (wanted,), (found,) = (evaluate_samples(graph, TEST).values() for graph in (model.original, model.graph))
    return sqnr(found, wanted)


BYTES = quantize_graph(GRAPH, SAMPLES, QuantizeOptions(min_sqnr=0))
SIZE = stored_bytes(BYTES.graph)


def test_a_budget_is_kept_and_made_use_of() -> None:
    model = quantized(1.3 * SIZE)
    assert SIZE < stored_bytes(model.graph) <= 1.3 * SIZE
    assert quality(model) > quality(BYTES) + 2
    assert quality(quantized(3 * SIZE)) > quality(model) + 10


def test_without_room_there_is_no_loss() -> None:
    model = quantized(SIZE)
    assert stored_bytes(model.graph) <= SIZE
    assert quality(model) >= quality(BYTES)


UNIFORM = [
    quantize_graph(GRAPH, SAMPLES, QuantizeOptions(**options), test=TEST)  # type: ignore[arg-type]
    for options in ({"min_sqnr": 0}, {}, {"activations": "int16"}, {"weight_bits": 4}, {"min_sqnr": 100})
]
"""In bytes, by default, with tensors of 16 bits, with weights of 4 bits, and in float."""


@pytest.mark.parametrize("factor", [1.0, 1.2, 1.6, 2.1, 6.0])
def test_never_worse_than_a_uniform_choice_that_fits(factor: float) -> None:
    found = quality(quantized(factor * SIZE))
    fitting = [quality(each) for each in UNIFORM if stored_bytes(each.graph) <= factor * SIZE]
    assert fitting
    assert found >= max(fitting) - 1e-9


def test_no_more_is_spent_than_is_demanded() -> None:
    demanded = quality(BYTES) + 4
    model = quantized(10 * SIZE, min_sqnr=demanded)
    assert demanded <= quality(model) <= demanded + 3
    assert stored_bytes(model.graph) < 2 * SIZE


def test_at_most_three_decibels_above_the_demand() -> None:
    demanded = quality(BYTES) + 9
    model = quantize_graph(GRAPH, SAMPLES, QuantizeOptions(min_sqnr=demanded), test=TEST)
    assert demanded <= quality(model) <= demanded + 3


def test_what_does_not_go_together_is_told_with_what_does() -> None:
    """The point that the error names is one that is reached."""
    with pytest.raises(CcmlError) as caught:
        quantized(1.3 * SIZE, min_sqnr=80.0)
    assert caught.value.kind is ErrorCode.BUDGET
    assert caught.value.reason.startswith("--min-sqnr 80 and the budget do not go together: it takes flash ")
    hint = re.fullmatch(r"the budget allows --min-sqnr ([\d.]+); --min-sqnr 80 takes ([\d,]+) bytes of flash",
                        str(caught.value.hint))  # fmt: skip
    assert hint is not None, caught.value.hint
    reached, needed = float(hint[1]), int(hint[2].replace(",", ""))
    assert quality(BYTES) + 2 < reached <= quality(quantized(1.3 * SIZE)) < reached + 0.11
    assert quality(quantized(needed, min_sqnr=80.0)) >= 80


def test_four_bits_where_the_flash_is_too_small_for_eight() -> None:
    with pytest.raises(CcmlError, match="even with the least precision: flash "):
        quantized(0.5 * SIZE)
    net = Network((1, 64))
    graph = net.graph(net.dense(net.relu(net.dense(net.x, 64)), 64))
    samples = samples_for(graph, 12)
    size = stored_bytes(quantize_graph(graph, samples, QuantizeOptions(min_sqnr=0)).graph)
    model = quantize_graph(graph, samples, meter=meter(0.95 * size), steering=True)
    assert stored_bytes(model.graph) <= 0.95 * size
    assert model.mixed is not None and model.mixed.before.int4_weight_macs > 0


def test_weights_of_sixteen_bits() -> None:
    """A written model is the same integers, in code as by definition; a layer's weights make no noise any more."""
    options = QuantizeOptions(integer_io=True, layers={"matmul_9": LayerOptions(weight_bits=16)})
    model = quantize_graph(GRAPH, SAMPLES, options)
    assert any(array.dtype == np.int16 for array in model.graph.constants.values())
    machine = host_machine()
    source = import_source("wide.onnx", export_model(model.graph))
    program = compile_source(source, machine).program
    (name,), (output,) = ([side.name for side in sides] for sides in (program.inputs, program.outputs))
    (expected,) = evaluate_samples(model.graph, TEST).values()
    scale = next(value.type.quant for value in model.graph.outputs)
    assert scale is not None
    for inputs, wanted in zip(TEST, expected):
        (value,) = model.graph.inputs
        assert value.type.quant is not None and value.dtype is DType.I8
        stored = np.rint(inputs[value.name] / np.float32(value.type.quant.scale[0])) + value.type.quant.zero_point[0]
        found = JitModel(program, machine).run({name: np.clip(stored, -128, 127).astype(np.int8)})[output]
        real = (found.astype(np.float32) - scale.zero_point[0]) * np.float32(scale.scale[0])
        assert np.array_equal(real, wanted)


def test_costs_tell_the_widths_apart() -> None:
    model = quantize_graph(GRAPH, SAMPLES, QuantizeOptions(min_sqnr=quality(BYTES) + 25), test=TEST)
    assert model.mixed is not None
    kinds = {step.precision for step in model.mixed.steps}
    assert {Raise.INT16, Raise.HALFWORDS} <= kinds
    before, after = model.mixed.before, model.mixed.after
    assert before.int16_weight_macs == 0 < after.int16_weight_macs
    assert after.float_macs == 0
    assert after.weight_bytes > before.weight_bytes
