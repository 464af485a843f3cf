"""Col2Im, Det, TfIdfVectorizer and the indices of MaxPool, compiled, against onnx.reference and ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend_onnx.compiled import check_compiled, check_node, onnxruntime
from tests.frontend_onnx.graphs import one_node


def floats(*shape: int, seed: int = 0, dtype: type[Any] = np.float32) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    ("image", "block", "attrs"),
    [
        ([5, 5], [1, 5], {}),
        ([6, 7], [2, 3], {"strides": [2, 1], "pads": [0, 1, 0, 1]}),
        ([6, 6], [2, 2], {"dilations": [1, 3]}),
        ([3, 4, 5], [1, 2, 2], {"strides": [1, 2, 1]}),
        ([6, 4], [3, 2], {"strides": [3, 2]}),
        ([7, 4], [3, 2], {"strides": [3, 2]}),
        ([4, 6, 2], [2, 3, 1], {"strides": [2, 3, 1]}),
    ],
)
def test_col2im(image: list[int], block: list[int], attrs: dict[str, Any]) -> None:
    counts = [
        (e + sum(attrs.get("pads", [0] * 6)[d :: len(image)][:2]) - (b - 1) * attrs.get("dilations", [1] * 3)[d] - 1)
        // attrs.get("strides", [1] * 3)[d] + 1
        for d, (e, b) in enumerate(zip(image, block))
    ]  # fmt: skip
    x = floats(2, 3 * int(np.prod(block)), int(np.prod(counts)))
    check_node("Col2Im", [x, np.array(image), np.array(block)], 18, [1, 2], **attrs)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_det(dtype: type[Any]) -> None:
    check_compiled(*one_node("Det", [floats(2, 3, 5, 5, dtype=dtype)], 22), rtol=1e-4, atol=1e-5)
    check_compiled(*one_node("Det", [floats(17, 17, dtype=dtype)], 11), rtol=1e-3)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize(("least", "most", "skips"), [(1, 1, 0), (2, 2, 5), (1, 2, 1), (1, 3, 2), (2, 3, 0)])
def test_tfidf(mode: str, least: int, most: int, skips: int) -> None:
    """With columns in an order of their own, one of them of no sequence."""
    rng = np.random.default_rng(least + skips)
    attrs: dict[str, Any] = {
        "mode": mode, "min_gram_length": least, "max_gram_length": most, "max_skip_count": skips,
        "ngram_counts": [0, 3, 9], "ngram_indexes": [6, 1, 2, 3, 0, 5, 7, 4], "weights": [0.5 * w for w in range(8)],
        "pool_int64s": [2, 3, 5, 5, 4, 5, 6, 2, 3, 2, 3, 5, 4, 5, 6],
    }  # fmt: skip
    for x in (rng.integers(2, 7, 11), rng.integers(2, 7, (3, 8)).astype(np.int32)):
        check_compiled(*one_node("TfIdfVectorizer", [x], 9, **attrs), onnxruntime)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_indices_of_max_pool(order: int, dtype: type[Any]) -> None:
    x = np.random.default_rng(0).integers(-4, 5, (2, 3, 6, 7)).astype(dtype)
    attrs: dict[str, Any] = {"kernel_shape": [2, 3], "strides": [2, 2], "pads": [1, 1, 0, 1], "outputs": 2}
    if dtype is np.float32:
        check_node("MaxPool", [x], 12, oracle=onnxruntime, storage_order=order, **attrs)
    check_compiled(*one_node("MaxPool", [x], 12, storage_order=order, **attrs), onnxruntime)


def test_indices_of_max_pool_over_other_dimensions() -> None:
    attrs: dict[str, Any] = {"kernel_shape": [2, 2, 3], "strides": [1, 2, 2], "outputs": 2, "ceil_mode": 1}
    check_compiled(*one_node("MaxPool", [floats(1, 2, 4, 5, 6)], 12, **attrs), onnxruntime)
    attrs = {"kernel_shape": [3], "dilations": [2], "outputs": 2}
    check_compiled(*one_node("MaxPool", [floats(2, 2, 9)], 12, **attrs), onnxruntime)
