"""Vectorization as text: before and after."""

from __future__ import annotations

from ccml.schedule.names import Names
from ccml.schedule.unroll import expand_unrolled
from ccml.schedule.vectorize import vectorize, vectorize_copies
from ccml.schedule.vectorizer import Able

from tests.schedule.kernel_texts import expected, parsed, printed


def vectorized(text: str, *widths: int) -> str:
    kernel = parsed(text)
    return printed(kernel, vectorize(kernel.body, widths, Names.of(kernel)))


def test_map_loop_becomes_lanes_and_a_rest() -> None:
    before = """
        kernel k(x: f32[10] const, y: f32[10] out)
          for c:10
            y[c] = x[c]+1.0f32
    """
    after = """
        kernel k(x: f32[10] const, y: f32[10] out)
          for c_1:2
            y[c_1*4 : 4] = x[c_1*4 : 4] + 1.0f32x4
          for c_2:2
            y[c_2+8] = x[c_2+8] + 1.0f32
    """
    assert vectorized(before, 4) == expected(after)


def test_the_outermost_contiguous_loop_is_chosen() -> None:
    before = """
        kernel k(x: f32[3,3,8] const, y: f32[8] out)
          for c:8
            reg acc: f32[1]
            acc[0] = 0.0f32
            for kh:3, kw:3
              acc[0] = max(acc[0], x[kh, kw, c])
            y[c] = acc[0]
    """
    after = """
        kernel k(x: f32[3,3,8] const, y: f32[8] out)
          reg acc_1: f32x8[1]
          acc_1[0] = 0.0f32x8
          for kh_1:3, kw_1:3
            acc_1[0] = max(acc_1[0], x[kh_1, kw_1, 0 : 8])
          y[0 : 8] = acc_1[0]
    """
    assert vectorized(before, 8) == expected(after)


def test_an_array_of_an_iteration_gets_an_element_for_each_lane() -> None:
    before = """
        kernel k(x: f32[3,8] const, y: f32[3,8] out)
          for c:8
            stack row: f32[3]
            for r:3
              row[r] = x[r, c]+1.0f32
            for q:3
              y[q, c] = row[q]
    """
    after = """
        kernel k(x: f32[3,8] const, y: f32[3,8] out)
          stack row_1: f32[3,8] align 32
          for r_1:3
            row_1[r_1, 0 : 8] = x[r_1, 0 : 8] + 1.0f32x8
          for q_1:3
            y[q_1, 0 : 8] = row_1[q_1, 0 : 8]
    """
    assert vectorized(before, 8) == expected(after)


def test_an_array_with_other_places_in_each_lane_stays() -> None:
    kernel = """
        kernel k(x: f32[8] const, y: f32[8] out)
          for c:8
            stack row: f32[8]
            row[c] = x[c]
            y[c] = row[c]
    """
    assert vectorized(kernel, 8) == expected(kernel)


def test_an_array_that_would_fill_the_stack_stays() -> None:
    kernel = """
        kernel k(x: f32[4096,8] const, y: f32[8] out)
          for c:8
            stack row: f32[4096]
            for r:4096
              row[r] = x[r, c]
            y[c] = row[7]
    """
    assert vectorized(kernel, 8) == expected(kernel)


def test_reduction_keeps_partial_sums_per_lane() -> None:
    before = """
        kernel k(x: f32[9] const, y: f32[1] out)
          reg acc: f32[1]
          acc[0] = 0.0f32
          for i:9
            acc[0] = acc[0] + x[i]
          y[0] = acc[0]
    """
    after = """
        kernel k(x: f32[9] const, y: f32[1] out)
          reg acc: f32[1]
          acc[0] = 0.0f32
          reg acc_1: f32x4[1]
          acc_1[0] = 0.0f32x4
          for i_1:2
            acc_1[0] = acc_1[0] + x[i_1*4 : 4]
          acc[0] = acc[0] + reduce_add(acc_1[0])
          for i_2:1
            acc[0] = acc[0] + x[i_2+8]
          y[0] = acc[0]
    """
    assert vectorized(before, 4) == expected(after)


def test_long_sums_of_floats_are_kept_in_several_vectors() -> None:
    """None of which waits for the addition before; what is left over goes to the first ones."""
    before = """
        kernel k(x: f32[20] const, y: f32[1] out)
          reg acc: f32[1]
          acc[0] = 0.0f32
          for i:20
            acc[0] = acc[0] + x[i]
          y[0] = acc[0]
    """
    after = """
        kernel k(x: f32[20] const, y: f32[1] out)
          reg acc: f32[1]
          acc[0] = 0.0f32
          reg acc_1: f32x4[1]
          acc_1[0] = 0.0f32x4
          reg acc_2: f32x4[1]
          acc_2[0] = 0.0f32x4
          for i_1:2
            acc_1[0] = acc_1[0] + x[i_1*8 : 4]
            acc_2[0] = acc_2[0] + x[i_1*8+4 : 4]
          acc_1[0] = acc_1[0] + x[16 : 4]
          acc[0] = acc[0] + reduce_add(acc_1[0] + acc_2[0])
          y[0] = acc[0]
    """
    kernel = parsed(before)
    assert printed(kernel, vectorize(kernel.body, (4,), Names.of(kernel), Able(sums=2))) == expected(after)


def test_strided_access_stays_scalar() -> None:
    text = """
        kernel k(x: f32[16] const, y: f32[8] out)
          for c:8
            y[c] = x[c*2]
    """
    assert vectorized(text, 4) == expected(text)


def test_a_carried_value_stays_scalar() -> None:
    text = """
        kernel k(y: f32[9] inout)
          for c:8
            y[c+1] = y[c]
    """
    assert vectorized(text, 4) == expected(text)


def test_unrolling_copies_the_body_with_fresh_names() -> None:
    before = """
        kernel k(x: f32[2] const, y: f32[2] out)
          unroll i:2
            let t: f32 = x[i]
            y[i] = t*t
    """
    after = """
        kernel k(x: f32[2] const, y: f32[2] out)
          let t_1: f32 = x[0]
          y[0] = t_1 * t_1
          let t_2: f32 = x[1]
          y[1] = t_2 * t_2
    """
    kernel = parsed(before)
    assert printed(kernel, expand_unrolled(kernel.body, Names.of(kernel))) == expected(after)


def test_copies_of_bytes_go_by_words() -> None:
    """What is computed stays, and so do copies that are not of neighbours."""
    before = """
        kernel k(x: i8[3,22] const, y: i8[3,22] out, z: i8[22,3] out)
          for i:3
            for c:22
              y[i, c] = x[i, c]
            for d:22
              z[d, i] = x[i, d]
            for e:22
              y[i, e] = -x[i, e]
    """
    after = """
        kernel k(x: i8[3,22] const, y: i8[3,22] out, z: i8[22,3] out)
          for i:3
            y[i, 0 : 16] = x[i, 0 : 16]
            y[i, 16 : 4] = x[i, 16 : 4]
            for c_1:2
              y[i, c_1+20] = x[i, c_1+20]
            for d:22
              z[d, i] = x[i, d]
            for e:22
              y[i, e] = -x[i, e]
    """
    kernel = parsed(before)
    body = vectorize_copies(kernel.body, (16, 4), Names.of(kernel))
    assert printed(kernel, body) == expected(after)


def test_small_tensors_that_are_no_tables_are_loaded() -> None:
    kernel = parsed("kernel k(x: u8[256] const, y: u8[256] out)\n  for c:256\n    y[c] = x[c]+1u8\n")
    body = vectorize(kernel.body, (16, 8), Names.of(kernel), Able(lookup_lanes=16))
    assert "y[c_1*16 : 16] = x[c_1*16 : 16] + 1u8x16" in printed(kernel, body)
