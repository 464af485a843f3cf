"""What a candidate of mixed precision is estimated to take beyond what there was."""

from __future__ import annotations

import pytest
from ccml.quantization import QuantizeOptions
from ccml.quantization.candidates import Candidate, Raise
from ccml.quantization.partition import key
from ccml.quantization.prices import Costing, Shares
from ccml.quantization.quantizer import Quantizer

from tests.quantize.networks import classifier, samples_for
from tests.quantize.test_recurrent_layers import layer, typical


def costing(quantizer: Quantizer, *candidates: Candidate) -> Costing:
    """Without a device, of one unit a multiply-accumulate."""
    return Costing.of(quantizer, Shares(1.0), candidates, None, None)


@pytest.mark.parametrize("op", ["lstm", "gru", "rnn"])
def test_a_recurrent_layer_in_float_takes_memory_for_all_its_results(op: str) -> None:
    """Three bytes more for each of 5 steps, 2 sequences and 7 hidden units, and for what is left of the states."""
    graph = layer(op)
    (node,) = graph.nodes
    candidate = Candidate(key(node), Raise.FLOAT, 1.0, op)
    quantizer = Quantizer.of(graph, typical(graph, 8), QuantizeOptions())
    states = 2 if op == "lstm" else 1
    assert costing(quantizer, candidate).extra(candidate).ram == 3 * (5 * 2 * 7 + states * 2 * 7)


def test_a_tensor_of_16_bits_takes_a_byte_more_of_each_element() -> None:
    graph = classifier(softmax=False)
    quantizer = Quantizer.of(graph, samples_for(graph), QuantizeOptions())
    candidate = Candidate("x", Raise.INT16, 1.0, "x")
    assert costing(quantizer, candidate).extra(candidate).ram == 3 * 8 * 8


def test_weights_of_a_layer_in_float_take_three_bytes_more() -> None:
    """The dense layer of 8 inputs and 4 outputs, with its bias."""
    graph = classifier(softmax=False)
    quantizer = Quantizer.of(graph, samples_for(graph), QuantizeOptions())
    dense = next(node for node in quantizer.graph.nodes if node.op == "matmul")
    halfwords, floats = (Candidate(key(dense), kind, 1.0, "dense") for kind in (Raise.HALFWORDS, Raise.FLOAT))
    found = costing(quantizer, halfwords, floats)
    assert found.extra(halfwords).flash == 8 * 4 + 4
    assert found.extra(floats).flash == 3 * (8 * 4 + 4)
