"""Statements of the loop IR: loops, branches, names, local buffers and masks."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitKernel, host_machine
from ccml.emit_llvm.kernels import kernel_function
from ccml.errors import CcmlError, ErrorCode

from tests.emit_llvm.programs import kernel


def run(text: str, **arrays: np.ndarray) -> None:
    JitKernel(kernel(text)).run(arrays)


def test_matrix_product() -> None:
    text = """
        kernel k(x: f32[5,6] const, w: f32[6,8] const, y: f32[5,8] out)
          parallel i:5
            for j:8
              y[i, j] = 0.0f32
              for k:6
                y[i, j] = y[i, j] + x[i, k] * w[k, j]
    """
    rng = np.random.default_rng(0)
    x, w = rng.integers(-9, 9, (5, 6)).astype(np.float32), rng.integers(-9, 9, (6, 8)).astype(np.float32)
    y = np.empty((5, 8), np.float32)
    run(text, x=x, w=w, y=y)
    np.testing.assert_array_equal(y, x @ w)


def test_register_buffers_hold_vectors_across_loops() -> None:
    text = """
        kernel k(x: f32[6] const, w: f32[6,16] const, y: f32[16] out)
          reg acc: f32x8[2]
          acc[0] = 0.0f32x8
          acc[1] = 0.0f32x8
          for k:6
            acc[0] = acc[0] + splat<8>(x[k]) * w[k, 0 : 8]
            acc[1] = acc[1] + splat<8>(x[k]) * w[k, 8 : 8]
          y[0 : 8] = acc[0]
          y[8 : 8] = acc[1]
    """
    x, w, y = np.arange(6, dtype=np.float32), np.arange(96, dtype=np.float32).reshape(6, 16), np.empty(16, np.float32)
    run(text, x=x, w=w, y=y)
    np.testing.assert_array_equal(y, x @ w)
    assert "alloca" not in optimized(text)


def test_lanes() -> None:
    text = """
        kernel k(x: f32[4] const, y: f32[8] out)
          let v: f32x4 = x[0 : 4]
          y[0 : 4] = splat<4>(lane<2>(v)) * v
          y[4] = lane<0>(v)
          y[5] = lane<3>(v)
    """
    x, y = np.array([2, 3, 5, 7], np.float32), np.zeros(8, np.float32)
    run(text, x=x, y=y)
    np.testing.assert_array_equal(y, [10, 15, 25, 35, 2, 7, 0, 0])


def optimized(text: str) -> str:
    from ccml.emit_llvm import backend

    machine = host_machine()
    function = kernel_function(kernel(text), machine, linkage="")
    module = "\n".join((f'target triple = "{backend.triple(machine)}"', *function.declarations, function.text))
    return str(backend.optimize(module, backend.target_machine(machine, reloc="pic")))


def test_stack_buffers() -> None:
    text = """
        kernel k(x: i32[8] const, flag: bool[8] const, y: i32[8] out)
          stack sums: i32[2,4] align 16
          stack seen: bool[8]
          for i:2, j:4
            sums[i, j] = x[i*4+j] * 2i32
            seen[i*4+j] = flag[i*4+j]
          for i:8
            y[i] = select(seen[7-i], sums[floordiv(7-i, 4), floormod(7-i, 4)], -1i32)
    """
    x, flag, y = np.arange(8, dtype=np.int32), np.arange(8) % 3 == 0, np.empty(8, np.int32)
    run(text, x=x, flag=flag, y=y)
    np.testing.assert_array_equal(y, np.where(flag, 2 * x, -1)[::-1])


def test_branches_and_dependent_extents() -> None:
    text = """
        kernel k(y: i32[5,5] inout)
          for i:5
            for j:i
              if j == 2:
                y[i, j] = 7i32
              else:
                if i == 3:
                  y[i, j] = 1i32
            for j:i-3
              y[0, j] = y[0, j] + 1i32
    """
    y = np.zeros((5, 5), np.int32)
    run(text, y=y)
    expected = np.zeros((5, 5), np.int32)
    expected[3:, 2] = 7
    expected[3, :2] = 1
    expected[0, 0] = 1
    np.testing.assert_array_equal(y, expected)


def test_loops_that_never_run() -> None:
    text = """
        kernel k(y: i32[2] inout)
          for i:0
            y[i] = 1i32
          for i:2
            for j:i-5
              y[i] = 2i32
    """
    y = np.zeros(2, np.int32)
    run(text, y=y)
    assert not y.any()


def test_names_end_with_their_block() -> None:
    text = """
        kernel k(y: i32[3] out)
          for i:2
            let a: index = i+1
            y[i] = convert<i32>(a)
          let a: index = 41
          y[2] = convert<i32>(a+1)
    """
    y = np.zeros(3, np.int32)
    run(text, y=y)
    np.testing.assert_array_equal(y, [1, 2, 42])


@pytest.mark.parametrize("active", range(5))
def test_masked_lanes_load_zero_and_are_not_stored(active: int) -> None:
    text = """
        kernel k(n: i32[1] const, x: f32[4] const, b: bool[4] const, y: f32[8] inout, c: bool[4] inout)
          let count: index = convert<index>(n[0])
          y[0 : 4] = x[0 : 4 active count] + 1.0f32x4
          y[4 : 4 active count] = x[0 : 4]
          c[0 : 4 active count] = not(b[0 : 4 active count])
    """
    x, y = np.arange(1, 5, dtype=np.float32), np.full(8, 9, np.float32)
    b, c = np.array([True, False, True, False]), np.ones(4, bool)
    run(text, n=np.array([active], np.int32), x=x, b=b, y=y, c=c)
    on = np.arange(4) < active
    np.testing.assert_array_equal(y[:4], np.where(on, x, 0) + 1)
    np.testing.assert_array_equal(y[4:], np.where(on, x, 9))
    np.testing.assert_array_equal(c, np.where(on, ~b, True))


def test_masked_access_does_not_touch_memory_beyond() -> None:
    """The vectors reach over the end of an unreadable page."""
    import ctypes
    import mmap

    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None)
    assert libc.mprotect(ctypes.c_void_p(address + page), ctypes.c_size_t(page), 0) == 0
    x = np.frombuffer(memory, np.float32, 3, offset=page - 12)
    x[:] = [1, 2, 3]
    y = np.zeros(3, np.float32)
    run("kernel k(x: f32[3] const, y: f32[3] out)\n  y[0 : 16 active 3] = x[0 : 16 active 3]\n", x=x, y=y)
    np.testing.assert_array_equal(y, [1, 2, 3])


def test_single_masked_lane() -> None:
    text = """
        kernel k(x: i8[2] const, y: i8[2] inout)
          for i:2
            y[i : 1 active i] = x[i : 1 active i] + 1i8
    """
    y = np.array([5, 5], np.int8)
    run(text, x=np.array([3, 4], np.int8), y=y)
    np.testing.assert_array_equal(y, [5, 5])


def test_buffers_without_dimensions_and_without_elements() -> None:
    text = """
        kernel k(x: f32[] const, empty: f32[0,4] const, y: f32[] out)
          y[] = x[] + x[]
    """
    y = np.zeros((), np.float32)
    run(text, x=np.array(4, np.float32), empty=np.zeros((0, 4), np.float32), y=y)
    assert y == 8


def test_alignment_is_used_where_it_is_sure() -> None:
    text = """
        kernel k(x: f32[8,16] const align 64, y: f32[8,16] out align 32)
          for i:8
            y[i, 4 : 4] = x[i, 8 : 4]
            y[i, 0 : 4] = x[i, i : 4]
    """
    printed = kernel_function(kernel(text), host_machine()).text
    assert [line.split("align ")[1] for line in printed.splitlines() if "<4 x float>" in line] == [
        "32",
        "16",
        "4",
        "32",
    ]


def test_noalias_and_access_become_attributes() -> None:
    text = "kernel k(x: f32[4] const, y: f32[4] out)\n  y[0] = x[0]\n"
    header = kernel_function(kernel(text), host_machine(), noalias=frozenset({"y"})).text.splitlines()[0]
    x, y = header.split("%p0")
    assert "readonly" in x and "noalias" not in x
    assert "noalias" in y and "readonly" not in y
    assert header.startswith("define hidden void @k(") and '"no-builtins"' in header


def test_what_the_schedule_must_have_done() -> None:
    unrolled = "kernel k(y: f32[4] out)\n  unroll i:4\n    y[i] = 0.0f32\n"
    indexed = """
        kernel k(y: f32[4] out)
          reg r: f32[4]
          for i:4
            r[i] = 0.0f32
    """
    for text, reason in ((unrolled, "unrolled"), (indexed, "constant indices")):
        with pytest.raises(CcmlError, match=reason) as caught:
            kernel_function(kernel(text), host_machine())
        assert caught.value.kind is ErrorCode.IR_INVALID


def test_arrays_are_checked() -> None:
    jit = JitKernel(kernel("kernel k(x: f32[4] const, y: f32[4] out)\n  y[0] = x[0]\n"))
    good = np.zeros(4, np.float32)
    for bad in (np.zeros(5, np.float32), np.zeros(4), np.zeros(8, np.float32)[::2]):
        with pytest.raises(CcmlError, match="y: ") as caught:
            jit.run({"x": good, "y": bad})
        assert caught.value.kind is ErrorCode.BAD_INPUT


@pytest.mark.parametrize("active", [1, 2, 3, 4])
def test_narrowed_lanes_beyond_the_active_ones_are_not_stored(active: int) -> None:
    """LLVM 22 stores 32 bits for one active lane that was narrowed to 16 (AVX-512)."""
    text = f"""
        kernel k(x: f32[4] const, y: i16[4] inout)
          y[0 : 4 active {active}] = convert<i16x4>(bitcast<i32x4>(x[0 : 4] + 12582912.0f32x4) - 1262485504i32x4)
    """
    x, y = np.array([3, -4, 500, -30000], np.float32), np.full(4, 77, np.int16)
    run(text, x=x, y=y)
    assert y.tolist() == [3, -4, 500, -30000][:active] + [77] * (4 - active)
