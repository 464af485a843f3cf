"""Block instructions: their meanings are kernels, and an Invoke is checked, printed and run like them."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest
from ccml.errors import CcmlError
from ccml.ir.blocks import block_kernel
from ccml.ir.blocks.pair import PAIR_TILE, stream_words
from ccml.ir.interpret import UndefinedBehaviourError, run_kernel
from ccml.ir.loops import Kernel
from ccml.ir.loops_text import parse_kernel, print_kernel
from ccml.ir.loops_verify import verify_kernel

SCALARS = {
    "stage": (3,), "stage_fill": (3, -5), "pair_i8": (13, 7, -128), "pair_i32": (2, 5), "single_i8": (3, 11, 4),
    "spread": (5, 4), "pack": (3, -128), "quad_words": (13, 3), "quad_pairs": (13, 3),
    "single_words": (13, 8), "requantize_i8": (3, 2, 4, 7, -128), "requantize_fixed": (3, 6, 6, 7, 5),
    "requantize_halfword": (3, 2, 4, 7, -128, 5), "plane_row": (3, 5), "plane_fill": (6, 9),
    "depthwise3x3": (2, 7, 2, 17),
    "single_i32": (2, 9), "depthwise_stage": (5, 8, 1, 1, -3), "depthwise_fill": (4, 1, -3), "depthwise_pair": (5,),
    "depthwise_stride2": (3,), "depthwise_finish_pair": (4, 8, -3), "depthwise_finish_row": (3, 8, 5),
    "copy_bytes": (11,), "quad_stage_pixel": (3,), "quad_stage": (3, 12), "quad_fill": (3, -128),
    "quad_i8": (9, 6, -128), "quad_i32": (2, 4), "lone_i8": (3, 4, 5), "lone_i32": (1, 2),
    "quad_fixed": (9, 6, -128, 11), "quad_fixed12": (4, 2, 127), "lone_fixed": (3, 4, 5, 15),
    "solo_fixed": (5, 8, 7, 12), "solo_halfword": (4, 4, -128, 16),
    "depthwise_fixed_pair": (4, 8, -3, 9), "depthwise_fixed_row": (3, 8, 5, 1),
}  # fmt: skip
HELIUM = {
    "helium_copy": (3, 21, 30, 24), "helium_fill": (35, -3), "helium_rescale": (13, 3, -4, 5, 6, -100, 90),
    "helium_sum": (5, 7, -9), "helium_pixels_i8": (2, 3, 60, 5, 16, 6, -128, -9),
    "helium_few_pixels_i8": (3, 5, 16, 8, -128, -9), "helium_runs_of_pixels_i8": (2, 3, 60, 5, 16, 8, -128, -9),
    "helium_pixels_i32": (3, 5, 80, 4, 48, 5),
    "helium_pixel_i8": (14, 11, 7, -128), "helium_pixel_i32": (2, 9), "helium_interleave": (21, 0b1001, -7),
    "helium_depthwise_rows": (5, 12, 6, 3, 6, 1, -128), "helium_depthwise_pixels": (5, 12, 6, 3, 6, 1, -128),
    "helium_depthwise_windows": (2, 1, 90, 6, 5, 12, 6, 1, -128),
}  # fmt: skip


@pytest.mark.parametrize("name", SCALARS)
def test_meaning_is_a_scheduled_kernel(name: str) -> None:
    kernel = block_kernel(name, {**SCALARS, **HELIUM}[name])
    verify_kernel(kernel, scheduled=True)
    assert parse_kernel(print_kernel(kernel)) == kernel


KERNEL = """
    kernel k(x: i8[2,8] const, w: i32[9] const align 4, s: i32[2,2,2] out align 8, y: i32[2,3] out)
      for p:2
        invoke stage(&x[p, 0], &s[0, p, 0], 2)
      invoke pair_i32(&w[0], &s[0, 0, 0], &y[0, 0], &y[1, 0], 2, 3)
"""


def kernel(old: str = "", new: str = "") -> Kernel:
    text = KERNEL.replace(old, new) if old else KERNEL
    return parse_kernel(dedent(text).lstrip("\n"))


def test_invoke_is_printed_and_parsed() -> None:
    verify_kernel(kernel(), scheduled=True)
    assert print_kernel(kernel()) == dedent(KERNEL).lstrip("\n")


def test_invoke_runs_the_meaning() -> None:
    rng = np.random.default_rng(1)
    x, weights = (rng.integers(-128, 128, (n, 8)).astype(np.int8) for n in (2, PAIR_TILE))
    bias = np.array([5, -7, 100], np.int32)
    words = weights.reshape(PAIR_TILE, 2, 4).transpose(1, 0, 2).copy().view("<i4").reshape(-1)
    stream = np.concatenate([bias, words])
    assert stream.size == stream_words(PAIR_TILE, 2, False)
    arrays = {"x": x, "w": stream, "s": np.zeros((2, 2, 2), np.int32), "y": np.zeros((2, 3), np.int32)}
    run_kernel(kernel(), arrays)
    np.testing.assert_array_equal(arrays["y"], x.astype(np.int32) @ weights.T.astype(np.int32) + bias)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("invoke stage(", "invoke store(", "there is no block instruction 'store' of 1 scalars"),
        (", 2, 3)", ", 2)", "there is no block instruction 'pair_i32' of 1 scalars"),
        ("&x[p, 0], ", "", "1 pointers for 2 parameters"),
        ("&x[p, 0]", "&w[p]", "'w' of i32 in global memory for i8"),
        ("&x[p, 0]", "&x[p, 1]", "the 8 elements for 'x' may leave 'x'"),
        ("&s[0, p, 0], 2", "&s[p, 1, 1], 1", "the 2 elements for 'y' may leave 's'"),
        ("y: i32[2,3] out", "y: i32[2,3] const", "'y' is const"),
    ],
)
def test_what_is_wrong_with_an_invoke(old: str, new: str, reason: str) -> None:
    with pytest.raises(CcmlError, match="L13") as caught:
        verify_kernel(kernel(old, new))
    assert reason in str(caught.value)


def test_the_interpreter_refuses_what_leaves_the_buffer() -> None:
    arrays = {"x": np.zeros((2, 8), np.int8), "w": np.zeros(9, np.int32), "s": np.zeros((2, 2, 2), np.int32)}
    with pytest.raises(UndefinedBehaviourError, match="out of range"):
        run_kernel(kernel("&x[p, 0]", "&x[p, 1]"), {**arrays, "y": np.zeros((2, 3), np.int32)})
