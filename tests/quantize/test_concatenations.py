"""Operands of a concatenation: one encoding for all, or one each."""

import numpy as np
from ccml.ir.graph import Graph
from ccml.quantization import quantize_graph

from tests.quantize.networks import Network, samples_for


def skip(factor: float, *, read_twice: bool) -> Graph:
    """A tensor beside ``factor`` times as large a one; ``read_twice``: another layer reads the first, too."""
    net = Network((1, 4, 6, 6))
    first = net.relu(net.conv(net.x, 4))
    second = net.relu(net.conv(first if read_twice else net.x, 4))
    weights = net.constants[net.nodes[-2].operands[1].name] * np.float32(factor)
    weights.flags.writeable = False
    net.constants[net.nodes[-2].operands[1].name] = weights
    return net.graph(net.conv(net.op("concat", first, second, axis=1), 3))


def scales(graph: Graph) -> dict[str, float]:
    quantized = quantize_graph(graph, samples_for(graph)).graph
    stored = [node for node in quantized.nodes if node.op == "quantize"]
    return {node.output.name.removesuffix(".q"): node.attrs["scale"][0] for node in stored}  # type: ignore[index]


def test_a_narrow_operand_that_others_read_has_steps_of_its_own() -> None:
    found = scales(skip(30, read_twice=True))
    assert found["relu_1"] < 0.2 * found["relu_3"]
    assert found["concat_4"] > found["relu_1"]


def test_operands_that_nothing_else_reads_share_an_encoding() -> None:
    found = scales(skip(30, read_twice=False))
    assert found["relu_1"] == found["relu_3"] == found["concat_4"]
