"""Replays of kernels byte by byte: what they find was counted by hand."""

from __future__ import annotations

from math import inf
from textwrap import dedent

import pytest
from ccml.errors import CcmlError
from ccml.ir.loops_text import parse_kernel
from ccml.ir.steps import Call
from ccml.memory.overlap import least_distance
from ccml.memory.replay import MOST_ACCESSES, replay, replay_length

from tests.memory.test_overlap import KERNELS

X, Y = 1, 2


def replayed(name: str, x: int, y: int) -> str | None:
    """x is written into memory last: bytes that both have are its own."""
    kernel = KERNELS[name]
    memory = bytearray(256)
    for param, first, mark in zip(("y", "x"), (y, x), (Y, X)):
        buffer = next(buffer for buffer in kernel.params if buffer.name == param)
        nbytes = buffer.strides[0] * buffer.shape[0] * buffer.dtype.size
        memory[first : first + nbytes] = bytes([mark]) * nbytes
    return replay(kernel, {"x": (x, X), "y": (y, Y)}, memory)


@pytest.mark.parametrize(
    ("name", "x", "y", "complaint"),
    [
        ("copy", 32, 32, None),
        ("copy", 32, 33, "33 is read as a part of x"),
        ("copy", 33, 32, None),
        ("backwards", 33, 32, "55 is read as a part of x"),
        ("vectors", 32, 35, "36 is read as a part of x"),
        ("masked", 32, 36, "36 is read as a part of x"),
        ("stencil", 32, 32, None),
        ("stencil", 32, 33, "33 is read as a part of x"),
        ("centred", 32, 32, "32 is read as a part of x"),  # row 1 looks back at row 0
        ("centred", 35, 32, None),
        ("halved", 32, 32, None),
        ("doubled", 32, 32, "32 is read as a part of x"),
        ("doubled", 44, 32, None),
        ("branches", 32, 32, "32 is read as a part of x"),  # x[0] behind y[0..2]
        ("branches", 35, 32, None),
        ("chosen", 35, 32, None),
        ("chosen", 34, 32, "34 is read as a part of x"),  # both sides, as z decides
    ],
)
def test_what_is_overwritten_too_early(name: str, x: int, y: int, complaint: str | None) -> None:
    assert replayed(name, x, y) == complaint


def test_what_a_tensor_wrote_itself_it_may_read() -> None:
    """x is behind two parameters: in the second round its own store makes byte 1 its own again, which z took before."""
    kernel = parse_kernel(
        dedent("""
            kernel k(x: u8[2] const, same: u8[2] out, z: u8[2] out)
              for i:2
                z[i] = 1u8
                same[1] = 2u8
                z[0] = x[i]
        """)
    )
    places = {"x": (0, X), "same": (0, X), "z": (2, Y)}
    assert replay(kernel, places, bytearray([X] * 2 + [Y] * 2)) is None
    assert replay(kernel, places | {"z": (1, Y)}, bytearray([X] * 3)) is None
    assert replay(kernel, places | {"z": (0, Y)}, bytearray([X] * 2)) == "0 is read as a part of x"


def test_extents_that_depend_on_outer_loops() -> None:
    """The second round reads x[0] again, behind the write to y[0] of the first."""
    kernel = parse_kernel(
        dedent("""
            kernel k(x: u8[4] const, y: u8[4] out)
              for i:4
                for j:i+1
                  y[j] = x[i - j]
        """)
    )
    places = {"x": (4, X), "y": (0, Y)}
    assert replay(kernel, places, bytearray([Y] * 4 + [X] * 4)) is None
    assert replay(kernel, places | {"y": (4, Y)}, bytearray([X] * 8)) == "4 is read as a part of x"


def test_places_that_data_choose_are_within_their_limits() -> None:
    """Of three elements one is read, of which it is not known which."""
    kernel = parse_kernel(
        dedent("""
            kernel k(z: i64[1] const, x: u8[12] const, y: u8[4] out)
              for i:4
                let at: index = max(min(convert<index>(z[0]), 2), 0)
                y[i] = x[i * 3 + at]
        """)
    )
    assert replay(kernel, {"x": (0, X), "y": (2, Y)}, bytearray([X] * 12)) is None
    assert replay(kernel, {"x": (0, X), "y": (3, Y)}, bytearray([X] * 12)) == "3 is read as a part of x"


def test_values_that_are_no_indices() -> None:
    kernel = parse_kernel(
        dedent("""
            kernel k(x: f32[4] const, y: f32[4] out)
              let bound: f32 = f32(inf)
              for i:4
                let nan: f32 = f32(nan)
                y[i] = select(x[i] < bound, x[i], nan)
        """)
    )
    assert replay(kernel, {"x": (0, X), "y": (0, Y)}, bytearray([X] * 16)) is None
    assert replay(kernel, {"x": (0, X), "y": (4, Y)}, bytearray([X] * 20)) == "4 is read as a part of x"


def test_more_accesses_than_a_plan_looks_at() -> None:
    kernel = parse_kernel(
        dedent(f"""
            kernel k(x: u8[4] const, y: u8[4] out)
              for i:{MOST_ACCESSES // 2 + 1}
                y[0] = x[0]
        """)
    )
    with pytest.raises(CcmlError, match="too many accesses"):
        replay(kernel, {"x": (0, X), "y": (4, Y)}, bytearray([X] * 4 + [Y] * 4))


def test_vectors_at_places_that_memory_tells_stay_in_their_buffer() -> None:
    """They may be any elements of x, and none of y, which begins right behind it."""
    kernel = parse_kernel(
        dedent("""
            kernel k(at: u8[2] const, x: u8[8] const, y: u8[2] out)
              for i:2
                let first: index = convert<index>(at[i])
                y[i] = reduce_add(x[first : 4])
        """)
    )
    memory = [X] * 8 + [Y] * 2
    assert replay(kernel, {"x": (0, X), "y": (8, Y)}, bytearray(memory)) is None
    assert replay(kernel, {"x": (0, X), "y": (7, Y)}, bytearray(memory)) == "0 is read as a part of x"


def test_what_runs_in_some_iterations_counts_for_these_alone() -> None:
    """A stream of a stage with many rows and one with few: 90 stores, and in every ninth step 2 loads and 2 stores."""
    kernel = parse_kernel(
        dedent("""
            kernel k(x: i8[90] const, y: i8[90] out)
              for s:90
                y[s] = 1i8
                if floormod(s, 9) < 1:
                  y[s] = x[s]
                  y[s] = x[s]
        """)
    )
    assert replay_length(kernel) == pytest.approx(90 + 10 * 4)


def test_loops_whose_extent_memory_tells_cannot_be_replayed() -> None:
    """Recurrent layers of integers over sequences of given lengths; no plan may let their tensors overlap."""
    kernel = parse_kernel(
        dedent("""
            kernel k(n: i32[1] const, x: i16[8] const, y: i16[8] out)
              let count: index = max(min(convert<index>(n[0]), 8), 0)
              for i:count
                y[i] = x[i]
        """)
    )
    assert replay_length(kernel) == inf
    assert least_distance(kernel, Call("k", ("n", "x", "y")), "x", "y") is None
