"""Block instructions: their meanings are kernels, and an Invoke is checked, printed and run like them."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest
from ccml.blocks import BLOCKS, block_kernel
from ccml.blocks.dsp_gemm import GEMM_3X2, pack
from ccml.errors import CcmlError
from ccml.instructions import INSTRUCTIONS
from ccml.ir.interpret import UndefinedBehaviourError, run_kernel
from ccml.ir.loops import INDEX, Const, Kernel, Let, Var
from ccml.ir.loops_text import parse_kernel, print_kernel
from ccml.ir.loops_verify import verify_kernel
from ccml.program import build
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.schedule.block_cases import block_operands
from tests.schedule.graphs import integer_conv_graph


@pytest.mark.parametrize("name", BLOCKS)
def test_meaning_is_a_scheduled_kernel(name: str) -> None:
    """And every row has samples for which that can be seen."""
    assert BLOCKS[name].samples
    for numbers in BLOCKS[name].samples:
        kernel = block_kernel(name, numbers)
        verify_kernel(kernel, scheduled=True, instructions=INSTRUCTIONS)
        assert parse_kernel(print_kernel(kernel)) == kernel
        run_kernel(kernel, block_operands(kernel), instructions=INSTRUCTIONS)


@pytest.mark.parametrize("count", range(1, 18))
def test_any_number_of_bytes_is_copied(count: int) -> None:
    """Also where one word and a rest stand in one block, each with names of its own."""
    meaning = block_kernel("copy_bytes", (count,))
    verify_kernel(meaning, scheduled=True, instructions=INSTRUCTIONS)
    arrays = {"x": np.arange(count, dtype=np.int8), "y": np.zeros(count, np.int8)}
    run_kernel(meaning, arrays, instructions=INSTRUCTIONS)
    np.testing.assert_array_equal(arrays["y"], arrays["x"])


def test_what_a_program_invokes_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = integer_conv_graph((1, 5, 5, 64), (64, 1, 1, 64))
    name = lower_graph(graph, select("cortex-m4")).blocks[0].name

    def twice(block: str, numbers: tuple[int, ...]) -> Kernel:
        found = block_kernel(block, numbers)
        bound = Let(Var("again"), Const(0, INDEX))
        return replace(found, body=(bound, bound, *found.body)) if found.name == name else found

    monkeypatch.setattr(build, "block_kernel", twice)
    with pytest.raises(CcmlError, match="L1: 'again' is bound already"):
        lower_graph(graph, select("cortex-m4"))


@pytest.mark.parametrize("name", BLOCKS)
def test_meaning_for_any_scalars_is_that_for_each(name: str) -> None:
    row = BLOCKS[name]
    general = row.general()
    verify_kernel(general, scheduled=True, instructions=INSTRUCTIONS)
    for numbers in row.samples:
        kernel = row.kernel(numbers)
        arrays = block_operands(kernel)
        expected = {key: array.copy() for key, array in arrays.items()}
        run_kernel(kernel, expected, instructions=INSTRUCTIONS)
        run_kernel(general, arrays, numbers, instructions=INSTRUCTIONS)
        for key, array in arrays.items():
            np.testing.assert_array_equal(array, expected[key], key)


KERNEL = """
    kernel k(x: i8[2,8] const, w: i32[9] const align 4, s: i32[2,2,2] out align 8, y: i32[2,3] out)
      for p:2
        invoke im2col_x2(&x[p, 0], &s[0, p, 0], 2)
      invoke gemm_3x2_i32(&w[0], &s[0, 0, 0], &y[0, 0], &y[1, 0], 2, 3)
"""


def kernel(old: str = "", new: str = "") -> Kernel:
    text = KERNEL.replace(old, new) if old else KERNEL
    return parse_kernel(dedent(text).lstrip("\n"))


def test_invoke_is_printed_and_parsed() -> None:
    verify_kernel(kernel(), scheduled=True, instructions=INSTRUCTIONS, blocks=BLOCKS)
    assert print_kernel(kernel()) == dedent(KERNEL).lstrip("\n")


def test_invoke_runs_the_meaning() -> None:
    rng = np.random.default_rng(1)
    x, weights = (rng.integers(-128, 128, (n, 8)).astype(np.int8) for n in (2, GEMM_3X2.tile))
    bias = np.array([5, -7, 100], np.int32)
    stream = pack(GEMM_3X2, bias, weights, None)
    arrays = {"x": x, "w": stream, "s": np.zeros((2, 2, 2), np.int32), "y": np.zeros((2, 3), np.int32)}
    run_kernel(kernel(), arrays, instructions=INSTRUCTIONS, blocks=BLOCKS)
    np.testing.assert_array_equal(arrays["y"], x.astype(np.int32) @ weights.T.astype(np.int32) + bias)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("invoke im2col_x2(", "invoke store(", "there is no block instruction 'store' of 1 scalars"),
        (", 2, 3)", ", 2)", "there is no block instruction 'gemm_3x2_i32' of 1 scalars"),
        ("&x[p, 0], ", "", "1 pointers for 2 parameters"),
        ("&x[p, 0]", "&w[p]", "'w' of i32 in global memory for i8"),
        ("&x[p, 0]", "&x[p, 1]", "the 8 elements for 'x' may leave 'x'"),
        ("&s[0, p, 0], 2", "&s[p, 1, 1], 1", "the 2 elements for 'y' may leave 's'"),
        ("y: i32[2,3] out", "y: i32[2,3] const", "'y' is const"),
    ],
)
def test_what_is_wrong_with_an_invoke(old: str, new: str, reason: str) -> None:
    with pytest.raises(CcmlError, match="L13") as caught:
        verify_kernel(kernel(old, new), instructions=INSTRUCTIONS, blocks=BLOCKS)
    assert reason in str(caught.value)


def test_the_interpreter_refuses_what_leaves_the_buffer() -> None:
    arrays = {"x": np.zeros((2, 8), np.int8), "w": np.zeros(9, np.int32), "s": np.zeros((2, 2, 2), np.int32)}
    with pytest.raises(UndefinedBehaviourError, match="out of range"):
        short = {**arrays, "y": np.zeros((2, 3), np.int32)}
        run_kernel(kernel("&x[p, 0]", "&x[p, 1]"), short, instructions=INSTRUCTIONS, blocks=BLOCKS)
