"""Loops in pieces between the borders at which conditions change."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.ir.loops import For, Store
from ccml.ir.loops_rewrite import walk_stmts
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.schedule.border_pieces import border_pieces, without_idle_choices
from ccml.schedule.names import Names
from ccml.schedule.vectorize import vectorize
from ccml.targets import select

from tests.frontend_onnx.graphs import one_node
from tests.schedule.kernel_texts import expected, parsed, printed


def in_pieces(text: str, least: int = 1) -> str | None:
    kernel = parsed(text)
    (stmt,) = kernel.body
    assert isinstance(stmt, For)
    pieces = border_pieces(stmt, least, Names.of(kernel))
    if pieces is None:
        return None
    return printed(kernel, tuple(part for piece in pieces for part in piece))


def test_nothing_is_tested_between_the_borders() -> None:
    before = """
        kernel k(x: f32[56] const, y: f32[58] out)
          for i:58
            y[i] = select((i >= 1) & (i < 57), x[max(min(i - 1, 55), 0)], 0.0f32)
    """
    after = """
        kernel k(x: f32[56] const, y: f32[58] out)
          y[0] = 0.0f32
          for i_2:56
            y[i_2+1] = x[i_2]
          y[57] = 0.0f32
    """
    assert in_pieces(before) == expected(after)


def test_reflections_become_places_that_run_backwards() -> None:
    before = """
        kernel k(x: f32[8] const, y: f32[12] out)
          for i:12
            y[i] = x[min(max(i - 2, -(i - 2)), 14 - max(i - 2, -(i - 2)))]
    """
    after = """
        kernel k(x: f32[8] const, y: f32[12] out)
          for i_1:2
            y[i_1] = x[-(i_1-2)]
          for i_2_1:8
            y[i_2_1+2] = x[i_2_1]
          for i_2_2:2
            y[i_2_2+10] = x[14-(i_2_2+8)]
    """
    assert in_pieces(before) == expected(after)


def test_quotients_and_remainders_are_known_within_a_period() -> None:
    before = """
        kernel k(x: f32[7] const, y: f32[14] out)
          for i:14
            y[i] = x[floormod(i + 3, 7)]
    """
    after = """
        kernel k(x: f32[7] const, y: f32[14] out)
          for i_1:4
            y[i_1] = x[i_1+3]
          for i_2:7
            y[i_2+4] = x[i_2]
          for i_3:3
            y[i_3+11] = x[i_3]
    """
    assert in_pieces(before) == expected(after)


@pytest.mark.parametrize(
    "value",
    [
        "x[i]",  # nothing is tested
        "select(i < j, x[i], 0.0f32)",  # where it turns is not known
        "x[floormod(i, 2)]",  # it turns at each second element
        "select((i < 2) | (i > 4), x[i], 0.0f32)",  # all pieces are short
    ],
)
def test_others_stay_whole(value: str) -> None:
    kernel = f"""
        kernel k(x: f32[16] const, y: f32[16] out, j: index)
          for i:16
            y[i] = {value}
    """
    assert in_pieces(kernel.replace(", j: index", "").replace("i < j", "i * i < 5"), least=12) is None


def test_choices_that_the_loops_decide_are_made() -> None:
    kernel = parsed("""
        kernel k(x: f32[4,8] const, y: f32[4,8] out)
          for a:4
            for b:8
              y[a, b] = select((a < 4) & (b >= 2), x[max(min(a, 3), 0), max(min(b, 5), 0)], 0.0f32)
    """)
    after = """
        kernel k(x: f32[4,8] const, y: f32[4,8] out)
          for a:4, b:8
            y[a, b] = select(b >= 2, x[a, min(b, 5)], 0.0f32)
    """
    assert printed(kernel, without_idle_choices(kernel.body)) == expected(after)


def test_names_for_constants_are_gone_between_the_borders() -> None:
    before = """
        kernel k(x: f32[58] const, y: f32[58] out)
          for i:58
            let first: index = max(1 - i, 0)
            y[i] = x[i + first]
    """
    after = """
        kernel k(x: f32[58] const, y: f32[58] out)
          for i_1:2
            let first_1: index = 1-i_1
            y[i_1] = x[i_1+first_1]
          for i_2:56
            y[i_2+2] = x[i_2+2]
    """
    assert in_pieces(before) == expected(after)


def test_bits_of_numbers_are_no_conditions() -> None:
    text = """
        kernel k(x: i32[4] const, y: i32[4] out)
          for a:4
            y[a] = x[a] & 3i32 | 4i32
    """
    kernel = parsed(text)
    assert without_idle_choices(kernel.body) == kernel.body


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_a_padded_image_is_copied_in_vectors(mode: str) -> None:
    x, pads = np.zeros((1, 3, 50, 64), np.float32), np.array([0, 1, 2, 3, 0, 1, 2, 3])
    proto, _ = one_node("Pad", [x, pads], 21, [1], mode=mode)
    (kernel,) = lower_graph(optimize(import_model(proto)), select("x86", cpu="x86-64-v4")).kernels
    stored = sum(stmt.value.type.lanes == 16 for stmt in walk_stmts(kernel.body) if isinstance(stmt, Store))
    assert stored


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize(
    ("shape", "pads"),
    [
        ((1, 3, 5, 40), (0, 1, 2, 3, 0, 0, 1, 4)),
        ((2, 1, 33), (0, 0, 17, 1, 0, 0)),
        ((37,), (1, 36)),
        ((3, 35), (2, -4, 0, 20)),
        ((4, 6), (0, 5, 0, 5)),
        ((1, 17), (3, 0, 0, 0)),
        ((3, 1), (0, 2, 0, 1)),
    ],
)
def test_pads_of_compiled_code(mode: str, shape: tuple[int, ...], pads: tuple[int, ...]) -> None:
    rank = len(shape)
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    widths = [(max(0, low), max(0, high)) for low, high in zip(pads[:rank], pads[rank:])]
    inside = tuple(slice(max(0, -low), n - max(0, -high)) for n, low, high in zip(shape, pads[:rank], pads[rank:]))
    proto, _ = one_node("Pad", [x, np.array(pads)], 21, [1], mode=mode)
    program = lower_graph(optimize(import_model(proto)), host_machine())
    (got,) = JitModel(program).run({program.inputs[0].name: x}).values()
    np.testing.assert_array_equal(got, np.pad(x[inside], widths, mode=mode))


def test_loops_over_rows_stay_whole() -> None:
    """A stream of rows has to find them."""
    text = """
        kernel k(x: f32[8,16] const, y: f32[10,16] out)
          for i:10, c:16
            y[i, c] = select((i >= 1) & (i < 9), x[max(min(i - 1, 7), 0), c], 0.0f32)
    """
    kernel = parsed(text)
    whole, cut = (vectorize(kernel.body, (16,), Names.of(kernel), by_rows=by_rows) for by_rows in (True, False))
    assert (len(whole), len(cut)) == (1, 3)
