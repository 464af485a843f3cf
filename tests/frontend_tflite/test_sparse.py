"""Sparse constants: every way to store them, and descriptions that contradict themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from ccml.frontend_tflite.sparse import Level, dense

from tests.frontend_tflite.sparsity import Sparsity, encoded

MATRIX = np.where(np.random.default_rng(3).random((8, 12)) < 0.2, np.arange(1, 97).reshape(8, 12), 0)
MATRIX[4:6] = 0
KERNEL = np.where(np.random.default_rng(4).random((3, 3, 4, 6)) < 0.1, np.float32(0.5), np.float32(0))


def levels_of(sparsity: Sparsity) -> list[Level]:
    return [
        Level(each) if isinstance(each, int) else Level(0, np.array(each[0], np.int64), np.array(each[1], np.int64))
        for each in sparsity.levels
    ]


@pytest.mark.parametrize(
    ("array", "outer", "blocks", "compressed"),
    [
        (MATRIX, (0, 1), {}, (1,)),
        (MATRIX, (0, 1), {}, (0, 1)),
        (MATRIX, (1, 0), {}, (1,)),
        (MATRIX, (0, 1), {1: 4}, (1,)),
        (MATRIX, (1, 0), {0: 2, 1: 3}, (0, 1)),
        (MATRIX, (0, 1), {1: 3, 0: 4}, ()),
        (MATRIX[0], (0,), {}, (0,)),
        (MATRIX * 0, (0, 1), {}, (0, 1)),
        (KERNEL, (0, 1, 2, 3), {3: 2}, (3,)),
        (KERNEL, (3, 0, 1, 2), {}, (0, 3)),
    ],
)
def test_every_order_and_blocks(
    array: np.ndarray, outer: Sequence[int], blocks: Mapping[int, int], compressed: Sequence[int]
) -> None:
    stored, sparsity = encoded(array, outer, blocks, compressed)
    found = dense(array.shape, sparsity.order, sparsity.block_map, levels_of(sparsity), stored)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def csr(segments: Sequence[int], indices: Sequence[int]) -> list[Level]:
    return [Level(2), Level(0, np.array(segments), np.array(indices))]


@pytest.mark.parametrize(
    ("order", "block_map", "levels", "count", "reason"),
    [
        ((0, 0), (), csr([0, 1, 2], [0, 1]), 2, "are not those of 2 dimensions"),
        ((0,), (), csr([0, 1, 2], [0, 1]), 2, "are not those of 2 dimensions"),
        ((0, 1), (0,), csr([0, 1, 2], [0, 1]), 2, "are not those of 2 dimensions"),
        ((0, 1), (), csr([0, 1], [0, 1]), 2, "too few segments"),
        ((0, 1), (), csr([0, 1, 3], [0, 1]), 2, "outside of its indices"),
        ((0, 1), (), csr([0, 2, 1], [0, 1]), 2, "outside of its indices"),
        ((0, 1), (), csr([-1, 1, 2], [0, 1]), 2, "outside of its indices"),
        ((0, 1), (), csr([0, 1, 2], [0, 3]), 2, "outside of the tensor"),
        ((0, 1), (), csr([0, 1, 2], [0, -1]), 2, "outside of the tensor"),
        ((0, 1), (), csr([0, 1, 2], [0, 1]), 3, "2 places for 3 elements"),
        ((0, 1), (), [Level(2), Level(2**40)], 6, "more places than elements"),
        ((0, 1), (), [Level(2), Level(3)], 1, "more places than elements"),
        ((0, 1), (), [Level(-2), Level(-3)], 6, "negative size"),
        ((0, 1, 2), (1,), [Level(2), Level(1), Level(2)], 4, "no size along dimension 1"),
        ((0, 1, 2), (2,), [Level(2), Level(1), Level(3)], 6, "no size along dimension 2"),
    ],
)  # fmt: skip
def test_contradictions(
    order: Sequence[int], block_map: Sequence[int], levels: Sequence[Level], count: int, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        dense((2, 3), order, block_map, levels, np.ones(count))
