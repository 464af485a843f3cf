"""Which values are stored, and what is one unit."""

from ccml.ir.graph import Graph
from ccml.quantization.partition import Partition, partition

from tests.quantize.networks import Network, classifier


def parts_of(graph: Graph, integer_io: bool = False, floats: frozenset[str] = frozenset()) -> Partition:
    return partition(graph, lambda node: node.loc in floats, integer_io)


def test_conv_and_relu_are_one_unit_and_the_logits_stay_floats() -> None:
    parts = parts_of(classifier())
    assert list(parts.stored) == ["x", "relu_1", "relu_3", "conv_4", "relu_6", "reduce_7", "reshape_8"]
    assert "softmax_10" not in parts.integer
    assert "matmul_9" in parts.integer


def test_moves_share_the_encoding_of_what_they_move() -> None:
    parts = parts_of(classifier())
    assert parts.stored["reshape_8"] == "reduce_7"
    assert parts.sources["reduce_7"] == ("reduce_7",)


def test_concatenated_tensors_share_one_encoding() -> None:
    net = Network((1, 4, 6, 6))
    joined = net.op("concat", net.conv(net.x, 3), net.conv(net.x, 5), axis=1)
    parts = parts_of(net.graph(net.conv(joined, 2)))
    assert parts.stored["concat_2"] == parts.stored["conv_1"] == parts.stored["conv_0"] == "conv_0"
    assert parts.sources["conv_0"] == ("conv_0", "conv_1")


def test_max_pooling_moves_and_average_pooling_computes() -> None:
    net = Network((1, 4, 8, 8))
    window = {"kernel": (2, 2), "stride": (2, 2), "pad": (0,) * 4, "dilation": (1, 1)}
    flags = {"ceil_mode": False, "count_include_pad": False, "layout": "channels_first"}
    most = net.op("pool", net.conv(net.x, 4), kind="max", **window, **flags)
    average = net.op("pool", most, kind="avg", **window, **flags)
    parts = parts_of(net.graph(net.conv(average, 2)))
    assert parts.stored["pool_1"] == "conv_0"
    assert parts.stored["pool_2"] == "pool_2"


def test_gelu_is_one_table_of_its_input() -> None:
    """x * 0.5 * (1 + erf(x * sqrt(0.5))): nothing is stored between."""
    net = Network((1, 4, 8))
    x = net.dense(net.x, 8)
    bend = net.op("add", net.op("erf", net.op("mul", x, net.number(0.7071))), net.number(1.0))
    gelu = net.op("mul", net.op("mul", x, net.number(0.5)), bend)
    parts = parts_of(net.graph(net.dense(gelu, 3)))
    assert list(parts.stored) == ["x", "matmul_0", gelu.name]


def test_a_value_that_others_read_ends_a_unit() -> None:
    net = Network((1, 4, 8))
    x = net.dense(net.x, 8)
    squashed = net.op("sigmoid", net.op("neg", x))
    inner = net.op("tanh", squashed)
    parts = parts_of(net.graph(net.dense(squashed, 3), net.dense(inner, 3)))
    assert list(parts.stored) == ["x", "matmul_0", squashed.name, inner.name]


def test_relu_of_a_value_with_another_reader_is_not_part_of_the_conv() -> None:
    net = Network((1, 4, 6, 6))
    x = net.conv(net.x, 4)
    parts = parts_of(net.graph(net.conv(net.relu(x), 2), net.conv(x, 2)))
    assert list(parts.stored) == ["x", "conv_0", "relu_1"]


def test_a_factor_behind_a_product_changes_the_scale_only() -> None:
    net = Network((1, 4, 8), (1, 8, 4))
    scores = net.op("mul", net.op("matmul", net.x, net.inputs[1]), net.number(0.25))
    parts = parts_of(net.graph(net.dense(net.op("softmax", scores, axis=2), 2)))
    value, factor = parts.factors["mul_1"]
    assert (value.name, factor) == ("matmul_0", 0.25)
    assert list(parts.stored) == ["x", "x1", "mul_1", "softmax_2"]


def test_what_precedes_the_first_layer_stays_float() -> None:
    net = Network((1, 3, 8, 8))
    normalized = net.op("div", net.op("sub", net.x, net.number(127.0)), net.number(64.0))
    parts = parts_of(net.graph(net.conv(normalized, 4)))
    assert list(parts.stored) == ["div_1"]


def test_moves_before_a_layer_move_integers() -> None:
    net = Network((1, 8, 8, 3))
    moved = net.op("transpose", net.x, perm=(0, 3, 1, 2))
    parts = parts_of(net.graph(net.conv(moved, 4)))
    assert dict(parts.stored) == {"x": "x", "transpose_0": "x"}


def test_an_integer_interface_stores_inputs_and_outputs() -> None:
    parts = parts_of(classifier(), integer_io=True)
    assert {"x", "matmul_9", "softmax_10"} <= parts.stored.keys()
    assert "softmax_10" in parts.integer
    net = Network((1, 8))
    parts = parts_of(net.graph(net.relu(net.dense(net.x, 4))), integer_io=True)
    assert list(parts.stored) == ["x", "relu_1"]


def test_a_float_layer_among_integer_layers() -> None:
    parts = parts_of(classifier(), floats=frozenset({"conv_2"}))
    assert "conv_2" not in parts.integer
    assert "relu_3" not in parts.integer
    assert "relu_3" in parts.stored


def test_recurrences_that_are_operators_read_and_keep_floats() -> None:
    net = Network((5, 1, 8), (2, 1, 1, 4))
    halves = [
        net.op("reshape", net.op("slice", net.inputs[1], starts=(n, 0, 0, 0), steps=(1,) * 4, sizes=(1, 1, 1, 4)),
               shape=(1, 1, 4))
        for n in (0, 1)
    ]  # fmt: skip
    attrs = {"hidden": 4, "direction": "forward", "activations": ("Sigmoid", "Tanh", "Tanh"), "clip": 9.0}
    weights = [net.weights(1, 16, 8), net.weights(1, 16, 4), None]
    y, h, c = net.emit("lstm", [net.x, *weights, *halves], {**attrs, "input_forget": False}, names=["y", "h", "c"])
    state = net.op("concat", h, c, axis=0)
    flat = net.op("reshape", y, shape=(5, 4))
    parts = parts_of(net.graph(net.dense(flat, 2), state))
    assert list(parts.stored) == ["y", flat.name]


def test_integer_recurrences_read_integers_and_keep_their_states_as_floats() -> None:
    """An initial state is rounded by the layer itself, and the last states are what it makes."""
    net = Network((5, 1, 8), (1, 1, 4))
    attrs = {"hidden": 4, "direction": "forward", "activations": ("Sigmoid", "Tanh"), "clip": float("inf")}
    weights = [net.weights(1, 12, 8), net.weights(1, 12, 4), None]
    operands = [net.x, *weights, net.inputs[1]]
    y, h = net.emit("gru", operands, {**attrs, "linear_before_reset": True}, names=["y", "h"])
    flat = net.op("reshape", y, shape=(5, 4))
    parts = parts_of(net.graph(net.dense(flat, 2), h))
    assert list(parts.stored) == [net.x.name, "y", flat.name]
