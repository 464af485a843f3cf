"""How many chunks the loops of a kernel become."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ccml.ir.chunks import chunk_extents
from ccml.ir.interpret import run_kernel
from ccml.ir.loops import For, Kernel
from ccml.ir.loops_text import parse_kernel
from ccml.ir.loops_verify import verify_kernel
from ccml.ir.program import Storage
from ccml.program import chunking, partition
from ccml.program.build import lower_graph
from ccml.program.chunking import Split, split
from ccml.program.goal import Goal
from ccml.targets import select

from tests.schedule.graphs import integer_conv_graph


@pytest.fixture(autouse=True)
def however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "SMALLEST_PHASE", 1)
    monkeypatch.setattr(chunking, "SMALLEST_CHUNK", 1)


def chunks(loops: str, threads: int, **sizes: int) -> tuple[int, ...]:
    """Of ``y[n, m] = x[n, m]`` in these loops."""
    kernel = parse_kernel(f"kernel k(x: f32[64,64] const, y: f32[64,64] out)\n  for {loops}\n    y[n, m] = x[n, m]\n")
    found = split(kernel.body, threads, frozenset(), {Storage[name.upper()]: size for name, size in sizes.items()})
    return chunk_extents(Kernel("k", kernel.params, found.body, chunked=found.chunked))


@pytest.mark.parametrize(
    ("loops", "threads", "expected"),
    [
        ("n:64, m:64", 2, (4,)),
        ("n:64, m:64", 4, (8,)),
        ("n:6, m:64", 2, (6,)),  # four chunks would be of two rows and of one
        ("n:5, m:64", 2, (5, 2)),  # five rows are two and a half for each
        ("n:3, m:64", 2, (3, 2)),
        ("n:22, m:64", 2, (2, 2)),  # eleven rows for each, rather than twelve and ten
        ("n:3, m:64", 3, (3, 2)),
    ],
)
def test_threads_have_the_same_work(loops: str, threads: int, expected: tuple[int, ...]) -> None:
    assert chunks(loops, threads) == expected


def test_what_is_read_by_one_thread_alone() -> None:
    """Weights that no cache keeps, unless activations are more: then rows are split, which lie together in memory."""
    few, many = 1 << 10, 1 << 22
    assert chunks("m:8, n:64", 2, constant=few, arena=many) == (4,)
    rows, columns = chunks("m:8, n:2", 2, constant=few, arena=few), chunks("m:8, n:2", 2, constant=many, arena=few)
    assert (rows, columns) == ((2, 2), (4,))
    assert chunks("m:8, n:2", 2, constant=many, arena=2 * many) == (2, 2)


def test_what_is_behind_an_inner_loop_may_be_a_loop_of_the_same_variable() -> None:
    text = """
kernel k(y: f32[2,14] out)
  for p:2
    for i:6
      for j:2
        y[p, i*2+j] = 1.0f32
    for i:2
      y[p, i+12] = 2.0f32
"""
    kernel = parse_kernel(text)
    found = split(kernel.body, 3, frozenset(), {})
    assert found.chunked == 2
    made = replace(kernel, body=found.body, chunked=found.chunked)
    verify_kernel(made)
    y = np.zeros((2, 14), np.float32)
    run_kernel(made, {"y": y})
    np.testing.assert_array_equal(y, np.broadcast_to(np.float32([1] * 12 + [2] * 2), y.shape))


def test_a_kernel_whose_chunks_are_not_shown_to_stay_in_range_stays_whole(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def one_chunk_more(*given: Any) -> Split:
        found = split(*given)
        loop = found.body[0]
        if not found.chunked or not isinstance(loop, For):
            return found
        return replace(found, body=(replace(loop, extent=loop.extent + 1),))

    machine, goal = select("x86", cpu="x86-64-v3"), Goal(threads=2)
    graph = integer_conv_graph((1, 8, 8, 16), (16, 1, 1, 16))
    assert any(kernel.chunked for kernel in lower_graph(graph, machine, goal).kernels)
    monkeypatch.setattr(partition, "split", one_chunk_more)
    assert not any(kernel.chunked for kernel in lower_graph(graph, machine, goal).kernels)
    assert "is not split for threads" in caplog.text
