"""Col2Im by vectors: whole channels and line by line, with strides, dilations and padding."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.frontend_onnx import import_model
from ccml.ir.loops import Binary, Store
from ccml.ir.loops_rewrite import walk_stmts
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.schedule.overlap_add import NEAR
from ccml.targets import select

from tests.frontend_onnx.graphs import one_node

CASES = [
    ((20, 37), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    ((90, 101), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    ((91, 100), (4, 4), (2, 2), (1, 1, 2, 0), (1, 1)),
    ((20, 40), (2, 3), (3, 2), (0, 3, 1, 1), (2, 3)),
    ((9001,), (16,), (4,), (5, 2), (1,)),
    ((400,), (5,), (3,), (0, 0), (2,)),
    ((6, 7, 40), (2, 3, 2), (1, 2, 2), (0, 1, 1, 0, 1, 0), (1, 1, 2)),
    ((21, 22, 40), (2, 2, 3), (1, 2, 1), (0, 0, 1, 0, 0, 1), (1, 1, 1)),
]


def blocks(image: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...],
           dilation: tuple[int, ...]) -> tuple[int, ...]:  # fmt: skip
    rank = len(image)
    spans = [e + a + b - (k - 1) * d - 1 for e, a, b, k, d in zip(image, pad, pad[rank:], kernel, dilation)]
    return tuple(span // s + 1 for span, s in zip(spans, stride))


@pytest.mark.parametrize(("image", "kernel", "stride", "pad", "dilation"), CASES)
def test_every_block_is_added_where_it_lies(
    image: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...],
    dilation: tuple[int, ...],
) -> None:  # fmt: skip
    """Of integers in floats, whose sums are exact."""
    counts, rank = blocks(image, kernel, stride, pad, dilation), len(image)
    x = np.random.default_rng(2).integers(-9, 9, (2, 2, *kernel, *counts)).astype(np.float32)
    want = np.zeros((2, 2, *(e + a + b for e, a, b in zip(image, pad, pad[rank:]))), np.float32)
    for tap, block in product(np.ndindex(kernel), np.ndindex(counts)):
        place = tuple(t * d + b * s for t, d, b, s in zip(tap, dilation, block, stride))
        want[:, :, *place] += x[:, :, *tap, *block]
    want = want[:, :, *(slice(a, a + e) for a, e in zip(pad, image))]
    operands = [x.reshape(2, -1, int(np.prod(counts))), np.array(image), np.array(kernel)]
    attrs = {"strides": list(stride), "pads": list(pad), "dilations": list(dilation)}
    proto, feeds = one_node("Col2Im", operands, 18, [1, 2], **attrs)
    (got,) = JitModel(lower_graph(optimize(import_model(proto)), host_machine())).run(feeds).values()
    np.testing.assert_array_equal(got, want)


def test_cases_are_near_and_far() -> None:
    assert len({4 * np.prod(image) > NEAR for image, *_ in CASES}) == 2


@pytest.mark.parametrize("size", [40, 200])
@pytest.mark.parametrize("stride", [1, 2])
def test_neighbours_are_added_by_vectors(size: int, stride: int) -> None:
    count = (size - 3) // stride + 1
    operands = [np.zeros((1, 9, count * count), np.float32), np.array([size, size]), np.array([3, 3])]
    proto, _ = one_node("Col2Im", operands, 18, [1, 2], strides=[stride, stride])
    (kernel,) = lower_graph(optimize(import_model(proto)), select("x86", cpu="x86-64-v4")).kernels
    added = [s.value for s in walk_stmts(kernel.body) if isinstance(s, Store) and isinstance(s.value, Binary)]
    assert max(value.type.lanes for value in added) == 16
