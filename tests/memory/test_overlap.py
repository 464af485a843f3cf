"""How far tensors may overlap: against runs of the kernels on memory that they share."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest
from ccml import blocks
from ccml.instructions import INSTRUCTIONS
from ccml.ir.interpret import run_kernel
from ccml.ir.loops import Kernel
from ccml.ir.loops_text import parse_kernel
from ccml.ir.steps import Call
from ccml.memory.overlap import least_distance, may_be_in_place
from ccml.memory.replay import replay
from hypothesis import given, settings
from hypothesis import strategies as st

COPY = """
    kernel k(x: u8[24] const, y: u8[24] out)
      for i:24
        y[i] = x[i]
"""
BACKWARDS = """
    kernel k(x: u8[24] const, y: u8[24] out)
      for i:24
        y[23 - i] = x[23 - i]
"""
VECTORS = """
    kernel k(x: u8[24] const, y: u8[24] out)
      for i:6
        y[i*4 : 4] = x[i*4 : 4]
"""
MASKED = """
    kernel k(x: u8[3,5] const, y: u8[3,5] out)
      for r:3, c:2
        y[r, c*4 : 4 active min(5 - c*4, 4)] = x[r, c*4 : 4 active min(5 - c*4, 4)]
"""
STENCIL = """
    kernel k(x: u8[24] const, y: u8[22] out)
      for i:22
        y[i] = x[i] + x[i+1] + x[i+2]
"""
CENTRED = """
    kernel k(x: u8[8,3] const, y: u8[8,3] out)
      for r:8, c:3
        let rows: index = min(r + 1, 7) - max(r - 1, 0) + 1
        reg acc: u8[1]
        acc[0] = 0u8
        for k:rows
          acc[0] = acc[0] + x[max(r - 1, 0) + k, c]
        y[r, c] = acc[0]
"""
COLUMNS = """
    kernel k(x: u8[8,3] const, y: u8[8,3] out)
      for c:3
        stack line: u8[8]
        for r:8
          line[r] = x[r, c]
        for r:8
          y[r, c] = line[7 - r]
"""
HALVED = """
    kernel k(x: u8[24] const, y: u8[12] out)
      for i:12
        y[i] = x[i*2] + x[i*2+1]
"""
DOUBLED = """
    kernel k(x: u8[12] const, y: u8[24] out)
      for i:24
        y[i] = x[floordiv(i, 2)]
"""
FILLED_FIRST = """
    kernel k(x: u8[4,4] const, y: u8[6,6] out)
      for i:6
        y[0, i] = 0u8
      for i_1:6
        y[5, i_1] = 0u8
      for r:4
        y[r+1, 0] = 0u8
        y[r+1, 5] = 0u8
        for c:4
          y[r+1, c+1] = x[r, c]
"""
BRANCHES = """
    kernel k(x: u8[24] const, y: u8[24] out)
      for i:24
        if i >= 3:
          y[i] = x[i - 3]
        else:
          y[i] = 7u8
"""
LOOKED_UP = """
    kernel k(x: u8[24] const, z: u8[24] const, y: u8[24] out)
      for i:24
        y[i] = x[convert<index>(z[i] & 15u8)]
"""
LOOKED_UP_IN_ROWS = """
    kernel k(x: u8[4,6] const, z: u8[8] const, y: u8[4,8] out)
      for r:4, i:8
        y[r, i] = x[r, convert<index>(z[i] & 3u8)]
"""
CHOSEN = """
    kernel k(x: u8[24] const, z: u8[24] const, y: u8[24] out)
      for i:24
        if z[i] > 50u8:
          y[i] = x[i]
        else:
          y[i] = x[max(i - 2, 0)]
"""
WIDE = """
    kernel k(x: i32[6] const, y: u8[6] out)
      for i:6
        y[i] = convert<u8>(x[i])
"""
BLOCKS = """
    kernel k(x: i8[8,8] const, pair: i32[2,2,2] out align 8, y: i32[8,6] out)
      for r:8
        invoke im2col_x2(&x[r, 0], &pair[0, 0, 0], 2)
        for c:6
          y[r, c] = pair[0, 0, 0] + convert<i32>(x[r, c])
"""

KERNELS = {
    name.lower(): parse_kernel(dedent(text))
    for name, text in globals().items()
    if isinstance(text, str) and text.startswith("\n    kernel")
}


def call_of(kernel: Kernel) -> Call:
    return Call(kernel.name, tuple(param.name for param in kernel.params))


def outputs(kernel: Kernel, distance: int | None) -> bytes:
    """What the kernel writes to y, with y beginning ``distance`` bytes before x, or in memory of its own."""
    rng = np.random.default_rng(3)
    arrays = {p.name: rng.integers(1, 100, p.shape).astype(p.dtype.numpy) for p in kernel.params}
    if distance is not None:
        memory = np.zeros(4096, np.uint8)
        for name, start in (("x", 2048), ("y", 2048 - distance)):
            part = memory[start : start + arrays[name].nbytes].view(arrays[name].dtype).reshape(arrays[name].shape)
            if name == "x":
                part[...] = arrays[name]
            arrays[name] = part
    run_kernel(kernel, arrays, instructions=INSTRUCTIONS, blocks=blocks.BLOCKS)
    return arrays["y"].tobytes()


@pytest.mark.parametrize("name", KERNELS)
def test_the_least_distance_is_sound(name: str) -> None:
    kernel = KERNELS[name]
    least = least_distance(kernel, call_of(kernel), "x", "y")
    for distance in range(least, least + 20):
        if distance % 4 == 0 or kernel.params[0].dtype.size == kernel.params[-1].dtype.size == 1:
            assert outputs(kernel, distance) == outputs(kernel, None)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("copy", 0), ("vectors", 0), ("masked", 0), ("stencil", 0), ("centred", 3), ("halved", -1), ("doubled", 12),
        ("backwards", 24),
        ("filled_first", 36), ("branches", 3), ("chosen", 3), ("wide", -3), ("blocks", 188 - 61),
    ],
)  # fmt: skip
def test_the_least_distance_is_the_least(name: str, least: int) -> None:
    """One byte nearer, something would be read that is overwritten; in most of these kernels by another value.

    Both sides of a condition on data are taken to run, one after the other."""
    kernel = KERNELS[name]
    assert least_distance(kernel, call_of(kernel), "x", "y") == least
    if kernel.params[0].dtype.size == 1 and name not in ("blocks", "doubled", "chosen"):
        assert outputs(kernel, least - 1) != outputs(kernel, None)


@pytest.mark.parametrize("name", KERNELS)
def test_what_may_be_in_place(name: str) -> None:
    kernel = KERNELS[name]
    if may_be_in_place(kernel, call_of(kernel), "x", "y"):
        assert outputs(kernel, 0) == outputs(kernel, None)


@pytest.mark.parametrize(
    ("name", "allowed"), [("copy", True), ("halved", True), ("backwards", True), ("columns", True), ("centred", False)]
)
def test_bytes_that_are_read_before_they_are_written_may_be_in_place(name: str, allowed: bool) -> None:
    """Also where the tensors may lie apart by nothing less than a whole one."""
    kernel = KERNELS[name]
    assert may_be_in_place(kernel, call_of(kernel), "x", "y") == allowed
    assert (outputs(kernel, 0) == outputs(kernel, None)) == allowed


def test_blocks_that_touch_parts_are_in_place() -> None:
    """Two groups of four channels: what lies between their pixels is the other's."""
    kernel = parse_kernel(
        dedent("""
            kernel k(w: i32[40] const, b: i8[4] const, p: i32[64] out align 4, x: i8[4,2,8] const, y: i8[4,2,8] out)
              for c:2
                invoke depthwise_stage_pairs(&b[0], &x[0, 0, c*4], &p[4], 1, 2, 0, 8, 32, 4)
                invoke depthwise_stage_pairs(&x[1, 0, c*4], &x[2, 0, c*4], &p[20], 1, 2, 8, 8, 32, 4)
                invoke depthwise_stage_pairs(&x[3, 0, c*4], &b[0], &p[36], 1, 2, 8, 0, 32, 4)
                invoke depthwise_map(&w[c*20], &p[0], &y[0, 0, c*4], 4, 2, 16, 8, 3)
        """)
    )
    call = Call("k", ("w", "b", "p", "x", "y"))
    assert least_distance(kernel, call, "x", "y") > 0
    assert may_be_in_place(kernel, call, "x", "y")
    place = {"x": (0, 1), "y": (0, 2)}
    assert replay(kernel, place, bytearray([1] * 64)) is None
    assert replay(kernel, {"x": (4, 1), "y": (0, 2)}, bytearray([0] * 4 + [1] * 64)) is not None


def test_blocks_in_steps_are_in_place() -> None:
    """Sums of runs of bytes take the place of one of their operands, and may not begin behind it."""
    kernel = parse_kernel(
        dedent("""
            kernel k(x: i8[6,16] const, v: i8[16] const, y: i8[6,16] out)
              for p:6
                invoke rescale_run(&x[p, 0], &v[0], &y[p, 0], 16, 524288, 524288, 0)
        """)
    )
    assert least_distance(kernel, Call("k", ("x", "v", "y")), "x", "y") == 0
    for x, y, sound in ((0, 0, True), (1, 0, True), (8, 0, True), (0, 1, False), (0, 8, False)):
        owner = bytearray([0] * x + [1] * 96 + [0] * 8)
        assert (replay(kernel, {"x": (x, 1), "y": (y, 2)}, owner) is None) == sound
        memory = np.arange(120, dtype=np.int8)
        arrays = {"x": memory[x : x + 96].reshape(6, 16), "v": np.arange(16, dtype=np.int8)}
        apart = {**{name: array.copy() for name, array in arrays.items()}, "y": np.zeros((6, 16), np.int8)}
        arrays["y"] = memory[y : y + 96].reshape(6, 16)
        for each in (arrays, apart):
            run_kernel(kernel, each, instructions=INSTRUCTIONS, blocks=blocks.BLOCKS)
        assert np.array_equal(arrays["y"], apart["y"]) == sound


def test_what_is_read_at_unknown_places_stays_whole() -> None:
    kernel = KERNELS["looked_up"]
    assert least_distance(kernel, call_of(kernel), "x", "y") == 23


@pytest.mark.parametrize(
    ("x", "y", "allowed"),
    [("f32", "i32", False), ("i16", "i32", False), ("u32", "i32", True), ("f32", "f32", True), ("f32", "i8", True)],
)
def test_types_that_c_takes_to_be_apart(x: str, y: str, allowed: bool) -> None:
    kernel = parse_kernel(f"kernel k(x: {x}[8] const, y: {y}[8] out)\n  for i:8\n    y[i] = convert<{y}>(x[i])\n")
    assert (least_distance(kernel, call_of(kernel), "x", "y") is not None) == allowed


SMALL = st.integers(0, 3)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(SMALL, SMALL, SMALL), min_size=1, max_size=3), st.tuples(SMALL, SMALL, SMALL), st.booleans())
def test_random_affine_kernels(reads: list[tuple[int, int, int]], write: tuple[int, int, int], block: bool) -> None:
    """y[a*i + b*j + c] of some x[d*i + e*j + f], with its loads beside the store or in an inner loop's Let."""

    def place(t: tuple[int, int, int]) -> str:
        return f"i*{t[0]} + j*{t[1]} + {t[2]}"

    value = " + ".join(f"x[{place(t)}]" for t in reads)
    lines = ["kernel k(x: u8[40] const, y: u8[40] out)", "  for i:4"]
    body = ["let v: u8 = " + value, f"y[{place(write)}] = v"] if block else [f"y[{place(write)}] = {value}"]
    lines += ["    for j:3", *(f"      {line}" for line in body)]
    kernel = parse_kernel("\n".join(lines) + "\n")
    least = least_distance(kernel, call_of(kernel), "x", "y")

    def written(distance: int | None) -> bytes:
        memory = np.zeros(400, np.uint8)
        x = memory[200:240]
        x[...] = np.arange(1, 41)
        start = 0 if distance is None else 200 - distance
        run_kernel(kernel, {"x": x, "y": memory[start : start + 40]}, instructions=INSTRUCTIONS, blocks=blocks.BLOCKS)
        places = {write[0] * i + write[1] * j + write[2] for i in range(4) for j in range(3)}
        return bytes(memory[start + at] for at in sorted(places))

    distances = list(range(max(least, -40), max(least, -40) + 5))
    if may_be_in_place(kernel, call_of(kernel), "x", "y"):
        distances.append(0)
    for distance in distances:
        assert written(distance) == written(None)
