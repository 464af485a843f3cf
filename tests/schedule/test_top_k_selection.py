"""TopK by selection: the order of the heap, of lines with and without blocks, few and many candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.frontend_onnx import import_model
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.schedule.key_sort import RANKED
from ccml.targets import select

from tests.frontend_onnx.graphs import one_node
from tests.schedule.top_k_order import check_order, with_specials

CASES = [
    ((2, 16), 1, 16), ((1, 100), 1, 40), ((3, 128), 1, 128), ((129, 2), 0, 128), ((2, 300), 1, 1), ((600, 3), 0, 80),
    ((2, 700), 1, 700), ((1, 2000), 1, RANKED), ((2, 2001), 1, RANKED + 1), ((1, 9001), 1, 17), ((1, 5000), 1, 3100),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "axis", "k"), CASES)
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, np.int32, np.uint32])
def test_order(shape: tuple[int, ...], axis: int, k: int, largest: int, dtype: type[Any]) -> None:
    rng = np.random.default_rng(4)
    check_order(with_specials(rng, rng.integers(0, 90, shape).astype(dtype)), axis, k, largest)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("pattern", ["ascending", "descending", "equal", "last", "normal"])
def test_patterns(pattern: str, largest: int) -> None:
    """All elements become candidates, none does, all are equal, the best are in the last block, and anywhere."""
    n = 5000
    rising = np.arange(n, dtype=np.float32)
    patterns = {
        "ascending": rising, "descending": -rising, "equal": 0 * rising, "last": np.maximum(rising, n - 99),
        "normal": np.random.default_rng(5).standard_normal(n, np.float32),
    }  # fmt: skip
    check_order(patterns[pattern][None], 1, 150, largest)


@pytest.mark.parametrize(
    ("target", "cpu", "dtype", "k", "selected"),
    [
        ("x86", "x86-64-v3", np.float32, 300, True), ("x86", "x86-64-v4", np.int8, 300, True),
        ("linux-arm64", "armv8-a", np.float32, 20, True), ("x86", "x86-64-v3", np.float64, 300, False),
        ("arm", "cortex-m4", np.float32, 300, False),
    ],
)  # fmt: skip
def test_applies(target: str, cpu: str, dtype: type[Any], k: int, selected: bool) -> None:
    proto, _ = one_node("TopK", [np.zeros((1, 8400), dtype), np.array([k])], 13, [1], axis=1, outputs=2)
    program = lower_graph(optimize(import_model(proto)), select(target, cpu=cpu))
    assert ("selection" in {call.generator for call in program.calls}) == selected
