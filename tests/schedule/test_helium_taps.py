"""Depthwise convolutions of up to nine taps on Helium: the same bytes as the operators' meaning on every way, and one
block for all of a layer that has factors of halfwords."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from ccml.blocks.helium_taps import pack
from ccml.driver import ModelOptions, compile_source, read
from ccml.ir.graph import Graph
from ccml.passes.by_rows import ONLY
from ccml.program.build import lower_graph
from ccml.schedule import generators
from ccml.targets import Machine, select
from onnx import TensorProto, helper, numpy_helper

from tests.schedule import test_staged
from tests.schedule.graphs import integer_conv_graph
from tests.schedule.test_halfword_factors import blocks, with_scales
from tests.schedule.test_helium import with_helium
from tests.schedule.test_staged import Route, assert_exact, by_c, by_jit, by_objects
from tests.tools import needs

M55 = select("cortex-m55")
BLOCK, HALFWORDS = "helium_depthwise_taps", "helium_depthwise_taps_halfword_7"
NINE = "helium_depthwise_nine_halfword"


def layer(shape: tuple[int, ...], *kernel: int, **attrs: object) -> Graph:
    """A depthwise convolution with a kernel."""
    given = {"stride": (1,) * len(kernel), "pad": (0, 0) * len(kernel), **attrs}
    graph = integer_conv_graph(shape, (shape[-1], *kernel, 1), group=shape[-1], **given)  # type: ignore[arg-type]
    return with_scales(graph)


def with_weights(graph: Graph, weights: np.ndarray) -> Graph:
    return replace(graph, constants={**graph.constants, "w": weights.astype(np.int8)})


GRAPHS = {
    "line": layer((1, 23, 16), 3, pad=(1, 1)),
    "line, a piece and more": layer((2, 70, 40), 3, pad=(1, 1)),
    "line, channels left": layer((1, 9, 33), 3, pad=(1, 1), zero_point=-128),
    "line, fewer channels than a tile": layer((2, 7, 5), 3),
    "line, stride": layer((1, 11, 31), 3, pad=(1, 0), stride=(2,)),
    "line, dilation": layer((1, 12, 17), 3, pad=(4, 4), dilation=(4,)),
    "line, two taps": layer((1, 8, 18), 2, pad=(0, 1)),
    "line, one tap": layer((1, 8, 20), 1),
    "line shorter than the kernel": layer((1, 1, 16), 3, pad=(1, 1)),
    "borders wider than the line": layer((1, 2, 8), 3, pad=(3, 4)),
    "1x3": layer((1, 3, 9, 19), 1, 3, pad=(0, 1, 0, 1)),
    "3x1, stride": layer((1, 9, 4, 24), 3, 1, pad=(1, 0, 1, 0), stride=(2, 1)),
    "line, nine taps, channels left": layer((1, 21, 23), 9, pad=(4, 4)),
    "3x3": layer((1, 5, 6, 32), 3, 3, pad=(1, 1, 1, 1)),
    "3x3, stride, channels left": layer((2, 7, 6, 21), 3, 3, pad=(1, 1, 1, 1), stride=(2, 2)),
    "3x3, dilation": layer((1, 7, 9, 16), 3, 3, pad=(2, 2, 2, 2), dilation=(2, 2)),
    "3x3, few channels": layer((1, 6, 8, 6), 3, 3, pad=(0, 1, 1, 1), zero_point=3),
    "2x4": layer((1, 4, 6, 16), 2, 4, pad=(0, 2, 1, 1)),
    "1x2, borders above": layer((2, 3, 5, 16), 1, 2, pad=(1, 0, 2, 1)),
}


@pytest.fixture(autouse=True)
def taps_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """This way for all layers that have it, which are too small for it to be the fastest."""
    known = generators.GENERATORS
    rows = tuple(row if row.name == "helium taps" else replace(row, cost=lambda _: inf) for row in known)
    monkeypatch.setattr(generators, "GENERATORS", rows)
    monkeypatch.setattr(test_staged, "BLOCKS_FIRST", rows)


by_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())


@by_graph
def test_meaning_in_process(graph: Graph, tmp_path: Path) -> None:
    assert_exact(graph, with_helium(), by_jit, tmp_path)


@by_graph
def test_one_block_computes_it(graph: Graph) -> None:
    assert blocks(graph, M55) <= {BLOCK, HALFWORDS, NINE, "helium_fill"}


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [by_c, by_objects])
@by_graph
def test_on_cortex_m55(graph: Graph, route: Route, tmp_path: Path) -> None:
    assert_exact(graph, M55, route, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize(("machine", "route"), [(with_helium(), by_jit), (M55, by_c)], ids=["meaning", "assembly"])
@pytest.mark.parametrize(("taps", "zero_point", "block"), [(3, -128, BLOCK), (3, 0, HALFWORDS), (9, 0, NINE)])
def test_sums_that_leave_a_word_or_halfword(
    taps: int, zero_point: int, block: str, machine: Machine, route: Route, tmp_path: Path
) -> None:
    """Weights of 127: sums times the greatest factor take 33 bits with a zero point of -128, and sums 17 without."""
    graph = layer((1, 40, 40), taps, pad=(1, 1), zero_point=zero_point)
    signs = np.where(np.arange(40) % 4 == 3, -127, 127)
    graph = with_weights(graph, np.broadcast_to(signs[:, np.newaxis, np.newaxis], (40, taps, 1)))
    assert block in blocks(graph, M55)
    assert_exact(graph, machine, route, tmp_path)


def test_other_layers_keep_their_way() -> None:
    """Products that leave a halfword, several channels of the output for one of the input, ten taps, and nine whose
    sums leave halfwords where the input is zero."""
    wide = with_weights(layer((1, 9, 16), 3), np.full((16, 3, 1), -128))
    several = with_scales(integer_conv_graph((1, 9, 8), (16, 3, 1), group=8, stride=(1,), pad=(0, 0)))
    weights = np.full((16, 9, 1), 90)
    relu = with_weights(layer((1, 19, 16), 9, zero_point=-128), weights)
    for graph in (wide, several, layer((1, 19, 16), 10), relu):
        assert not {BLOCK, HALFWORDS, NINE} & blocks(graph, M55)


def test_the_stream_of_a_tile() -> None:
    """Three channels, by hand: bytes by taps; halfwords and words of channels 0 and 2, then of channel 1."""
    words = pack(np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), np.array([10, 11, 12]), np.array([20, 21, 22]))
    assert words.shape == (36,)
    assert [words[0], words[4], words[8]] == [0x070401, 0x080502, 0x090603]
    assert list(words[12:16]) == [10 | 12 << 16, 0, 0, 0]
    assert list(words[16:24]) == [20, 0, 0, 0, 22, 0, 0, 0]
    assert list(words[24:36]) == [11, 0, 0, 0, 21, 0, 0, 0, 0, 0, 0, 0]


def test_outputs_take_the_place_of_inputs() -> None:
    """A line of 6,400 bytes is computed 256 bytes at a time."""
    program = lower_graph(layer((1, 200, 32), 3, pad=(1, 1)), M55)
    assert program.plan.ram < 6400 + 1024


def save_line(path: Path) -> Path:
    """A quantized model: three taps along a line [1, 200, 32]."""
    rng, shape = np.random.default_rng(1), (1, 200, 32)
    weights = rng.standard_normal((32, 1, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Transpose", ["x"], ["first"], perm=[0, 2, 1]),
        helper.make_node("Conv", ["first", "w"], ["made"], group=32, pads=[1, 1]),
        helper.make_node("Transpose", ["made"], ["y"], perm=[0, 2, 1]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy")
    graph = helper.make_graph(nodes, "line", [x], [y], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path / "float.onnx")
    np.savez(path / "samples.npz", x=rng.standard_normal((4, *shape)).astype(np.float32))
    options = ccml.QuantizeOptions(integer_io=True)
    ccml.quantize(path / "float.onnx", ccml.Quantization(path / "samples.npz", options), path / "line.onnx")
    return path / "line.onnx"


def test_lines_that_come_element_by_element_are_computed_so(tmp_path: Path) -> None:
    """With ``--input rows`` no more of a line is needed than what the taps of an output see."""
    source = read(save_line(tmp_path), ModelOptions(rows=(ONLY,)))
    program = compile_source(source, M55).program
    assert any(block.name.startswith(BLOCK) for block in program.blocks)
    assert program.plan.ram < 6400 + 512
