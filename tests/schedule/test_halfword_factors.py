"""Layers whose channels all have factors of 15 bits: block instructions take halfwords and give the same bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.ir.graph import Graph
from ccml.ir.loops import Invoke
from ccml.ir.loops_rewrite import walk_stmts
from ccml.ir.types import DType
from ccml.program.build import lower_graph
from ccml.quantization.encoding import Encoding
from ccml.quantization.halfword_scales import Products, with_halfword_factors
from ccml.targets import Machine, select

from tests.schedule.graphs import integer_conv_graph
from tests.schedule.test_fixed_requantization import bounded
from tests.schedule.test_plain_contractions import on_host
from tests.schedule.test_staged import Route, assert_exact, by_c, by_jit, by_objects, with_blocks
from tests.tools import needs

M0, M3, M4 = (select(f"cortex-{core}") for core in ("m0", "m3", "m4"))
SAME = (1, 1, 1, 1)


def with_factors(graph: Graph) -> Graph:
    """The same with scales that come to such factors, up to eight times apart."""
    return with_scales(bounded(graph, 0.01))


def with_scales(graph: Graph) -> Graph:
    """The same with these scales, whatever follows the requantization."""
    channels = graph.constants["scale"].size
    scales = np.random.default_rng(4).uniform(0.0007, 0.0056, channels).astype(np.float32)
    products = Products(np.float32(1), Encoding(DType.I8, (1.0,), (-7,)))
    scales = with_halfword_factors(scales, products, np.full(channels, 4000.0))
    scales.flags.writeable = False
    return replace(graph, constants={**graph.constants, "scale": scales})


GRAPHS = {
    "single pixel": with_factors(integer_conv_graph((1, 1, 1, 64), (12, 1, 1, 64))),
    "single pixel, odd channels": with_factors(integer_conv_graph((1, 1, 1, 11), (19, 1, 1, 11))),
    "single pixel, long sums": with_factors(integer_conv_graph((1, 1, 1, 400), (64, 1, 1, 400), zero_point=-128)),
    "pixels": with_factors(integer_conv_graph((1, 5, 5, 16), (9, 3, 3, 16), pad=SAME)),
    "depthwise": with_factors(integer_conv_graph((1, 6, 9, 5), (5, 3, 3, 1), group=5, pad=SAME)),
}
SINGLE = [name for name in GRAPHS if name.startswith("single")]


def blocks(graph: Graph, machine: Machine) -> set[str]:
    kernels = lower_graph(graph, machine).kernels
    return {stmt.block for kernel in kernels for stmt in walk_stmts(kernel.body) if isinstance(stmt, Invoke)}


@pytest.mark.parametrize("name", SINGLE)
def test_two_factors_in_a_word(name: str) -> None:
    rows = {"gemm_packed_4x1_halfword", "gemm_packed_4x1_fixed"}
    assert blocks(GRAPHS[name], M4) & rows == {"gemm_packed_4x1_halfword"}


@pytest.mark.parametrize("machine", [M0, M3], ids=["m0", "m3"])
@pytest.mark.parametrize("name", GRAPHS)
def test_two_bytes_for_a_channel(name: str, machine: Machine) -> None:
    program = lower_graph(GRAPHS[name], machine)
    channels = GRAPHS[name].constants["scale"].size
    assert "requantize_halfword" in blocks(GRAPHS[name], machine)
    assert [array.dtype for array in program.constants.values() if array.dtype == np.int16] == [np.int16]
    assert [array.size for array in program.constants.values() if array.dtype == np.int16] == [channels]


@pytest.mark.parametrize("machine", [M0, M3, M4], ids=["m0", "m3", "m4"])
def test_other_scales_have_words(machine: Machine) -> None:
    graph = bounded(integer_conv_graph((1, 1, 1, 40), (27, 1, 1, 40)), 0.00213719)
    assert blocks(graph, machine) & {"gemm_packed_4x1_fixed", "requantize_fixed"}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("machine", [with_blocks(), on_host(M0), on_host(M3)], ids=["m4", "m0", "m3"])
def test_meaning_in_process(name: str, machine: Machine, tmp_path: Path) -> None:
    assert_exact(GRAPHS[name], machine, by_jit, tmp_path)


@needs("gcc")
@pytest.mark.parametrize("name", SINGLE)
def test_portable_c(name: str, tmp_path: Path) -> None:
    assert_exact(GRAPHS[name], with_blocks(), by_c, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [by_c, by_objects])
@pytest.mark.parametrize("machine", [M0, M3, M4], ids=["m0", "m3", "m4"])
@pytest.mark.parametrize("name", ["single pixel, odd channels", "single pixel, long sums", "pixels", "depthwise"])
def test_emulated(name: str, machine: Machine, route: Route, tmp_path: Path) -> None:
    assert_exact(GRAPHS[name], machine, route, tmp_path)
