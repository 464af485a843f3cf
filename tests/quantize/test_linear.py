"""Layers as matrix products: the same numbers as the operators."""

from collections.abc import Callable

import numpy as np
import pytest
from ccml.ir.graph import Node
from ccml.ops.table import OPS
from ccml.quantization.linear import channel_scales, from_matrices, scale_numbers, to_matrices, to_rows

from tests.quantize.networks import Network


def conv(group: int, **attrs: object) -> tuple[Network, Node]:
    net = Network((2, 6, 7, 5))
    net.conv(net.x, 4 * group, group=group, bias=False, **attrs)
    return net, net.nodes[-1]


def transposed_conv(group: int) -> tuple[Network, Node]:
    net = Network((2, 6, 4, 3))
    attrs = {"stride": (2, 1), "pad": (1, 0, 0, 0), "dilation": (1, 1), "output_padding": (0, 0)}
    net.op("conv_transpose", net.x, net.weights(6, 5, 3, 2), group=group, layout="channels_first", **attrs)
    return net, net.nodes[-1]


@pytest.mark.parametrize("group", [1, 2, 6])
@pytest.mark.parametrize("attrs", [{}, {"stride": (2, 1), "pad": (0, 1, 2, 0), "dilation": (2, 1)}])
def test_conv_is_rows_times_matrices(group: int, attrs: dict[str, object]) -> None:
    net, node = conv(group, **attrs)
    x, w = net.rng.standard_normal(net.x.shape), net.constants[node.operands[1].name]
    products = to_rows(node, x[np.newaxis], 10**6) @ to_matrices(node, w)
    count, channels = node.output.shape[0], node.output.shape[1]
    rows = products.reshape(group, count, -1, channels // group).transpose(1, 0, 3, 2).reshape(node.output.shape)
    assert np.allclose(rows, OPS["conv"].evaluate([x, w.astype(np.float64)], node.attrs)[0])


def test_matmul_is_rows_times_matrices() -> None:
    net = Network((2, 3, 8))
    net.dense(net.x, 5, bias=False)
    node = net.nodes[-1]
    x, w = net.rng.standard_normal(net.x.shape), net.constants[node.operands[1].name]
    products = to_rows(node, x[np.newaxis], 10**6) @ to_matrices(node, w)
    assert np.allclose(products.reshape(node.output.shape), x @ w)


@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("make", [conv, transposed_conv])
def test_matrices_go_back_to_weights(make: Callable[[int], tuple[Network, Node]], group: int) -> None:
    net, node = make(group)
    w = net.constants[node.operands[1].name]
    assert np.array_equal(from_matrices(node, to_matrices(node, w), w.shape), w)


def test_groups_of_a_transposed_conv_share_scales() -> None:
    net, node = transposed_conv(3)
    numbers = scale_numbers(node, to_matrices(node, net.constants[node.operands[1].name]))
    assert numbers.shape == (3, 5 * 6)
    assert numbers[0].tolist() == numbers[2].tolist() == np.repeat(np.arange(5), 6).tolist()
    assert channel_scales(node, np.arange(5.0)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0] * 3


def test_rows_are_thinned_evenly() -> None:
    net = Network((1, 100, 1))
    net.dense(net.x, 1)
    rows = to_rows(net.nodes[-1], np.arange(100.0).reshape(1, 1, 100, 1), 5)
    assert rows.reshape(-1).tolist() == [0.0, 24.0, 49.0, 74.0, 99.0]


@pytest.mark.parametrize("most", [7, 10**6])
@pytest.mark.parametrize("make", [lambda: conv(2, stride=(2, 1)), lambda: transposed_conv(3)], ids=["conv", "up"])
def test_rows_of_several_samples_follow_each_other(make: Callable[[], tuple[Network, Node]], most: int) -> None:
    net, node = make()
    x = net.rng.standard_normal((3, *net.x.shape))
    apart = [to_rows(node, x[n : n + 1], most) for n in range(3)]
    assert np.array_equal(to_rows(node, x, most), np.concatenate(apart, axis=1))
