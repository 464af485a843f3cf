"""Nests of col2im, max_pool_index, det and count_ngrams against their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.ops.windows import window_counts

from tests.ops.nest_harness import check_nest, normal


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float16])
@pytest.mark.parametrize(
    ("image", "kernel", "stride", "pad", "dilation"),
    [
        ((5, 6), (2, 3), (1, 1), (0, 0, 0, 0), (1, 1)),
        ((7, 5), (3, 2), (2, 3), (1, 0, 2, 1), (1, 2)),
        ((9,), (2,), (4,), (1, 0), (3,)),
        ((4, 3, 5), (2, 1, 2), (2, 1, 2), (0, 1, 1, 0, 1, 0), (1, 1, 2)),
    ],
)
def test_col2im(dtype: type[Any], image: Any, kernel: Any, stride: Any, pad: Any, dilation: Any) -> None:
    counts = window_counts(image, kernel, stride, pad, dilation)
    x = np.round(normal(2, 3, *kernel, *counts, dtype=dtype))
    check_nest("col2im", x, image=image, stride=stride, pad=pad, dilation=dilation)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int8])
@pytest.mark.parametrize("column_major", [False, True])
def test_max_pool_index(dtype: type[Any], column_major: bool) -> None:
    """Of windows with equal elements, and where all are the least that there is."""
    x = np.round(normal(2, 3, 6, 5, dtype=dtype))
    least = -np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min
    for array in (x, np.full_like(x, least)):
        for kernel, stride, pad, dilation in (
            ((2, 3), (2, 1), (1, 1, 0, 1), (1, 1)), ((2, 2), (3, 2), (1, 0, 1, 1), (2, 1)),
        ):  # fmt: skip
            check_nest(
                "max_pool_index", array, kernel=kernel, stride=stride, pad=pad, dilation=dilation, ceil_mode=True,
                column_major=column_major,
            )  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_det(n: int) -> None:
    check_nest("det", normal(2, 2, n, n), rtol=1e-4, atol=1e-4)
    check_nest("det", normal(n, n, dtype=np.float64), rtol=1e-10, atol=1e-10)


def test_det_of_matrices_without_an_inverse() -> None:
    for matrix in ([[0, 0], [0, 0]], [[1, 2], [2, 4]], [[0, 1], [1, 0]], [[0, 2, 1], [0, 0, 3], [0, 5, 5]]):
        check_nest("det", np.array(matrix, np.float32), rtol=0, atol=0)


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("skips", [0, 1, 5])
def test_count_ngrams(length: int, skips: int) -> None:
    rng = np.random.default_rng(0)
    x, grams = rng.integers(0, 3, (2, 12)), rng.integers(0, 3, (5, length))
    check_nest("count_ngrams", x, grams, skips=skips)
    check_nest("count_ngrams", x[:, :2].astype(np.int32), grams.astype(np.int32), skips=skips)
