"""The C text of kernels: statements, scopes and what is refused."""

from __future__ import annotations

from collections.abc import Collection
from textwrap import dedent

import pytest
from ccml.emit_c.kernel import kernel_function
from ccml.emit_c.requirements import Requirements
from ccml.emit_c.tree import print_c
from ccml.errors import CcmlError
from ccml.ir.loops_text import parse_kernel


def c_text(text: str, disjoint: Collection[str] = (), reserved: Collection[str] = ()) -> str:
    kernel = parse_kernel(dedent(text))
    return print_c(kernel_function(kernel, f"kws_{kernel.name}", Requirements(), disjoint=disjoint, reserved=reserved))


def check(text: str, expected: str, **options: Collection[str]) -> None:
    assert c_text(text, **options) == dedent(expected).lstrip("\n")


def test_registers_vectors_and_restrict() -> None:
    check(
        """
        kernel conv(x: f32[58,12] const, w: f32[10,32] const, y: f32[25,32] out)
          for oh:25
            reg acc: f32x16[2]
            acc[0] = 0.0f32x16
            acc[1] = 0.0f32x16
            for kh:10
              acc[0] = fma(splat<16>(x[oh*2+kh-4, 3]), w[kh, 0 : 16], acc[0])
              acc[1] = fma(splat<16>(x[oh*2+kh-4, 3]), w[kh, 16 : 16], acc[1])
            y[oh, 0 : 16] = max(acc[0], 0.0f32x16)
            y[oh, 16 : 16 active oh+1] = acc[1]
        """,
        """
        static void kws_conv(const float * restrict x, const float *w, float * restrict y)
        {
          for (ptrdiff_t oh = 0; oh < 25; ++oh)
          {
            ccml_f32x16 acc_0;
            ccml_f32x16 acc_1;
            acc_0 = ccml_f32x16_splat(0.0f);
            acc_1 = ccml_f32x16_splat(0.0f);
            for (ptrdiff_t kh = 0; kh < 10; ++kh)
            {
              acc_0 = ccml_f32x16_fma(ccml_f32x16_splat(x[(oh * 2 + kh) * 12 - 45]), ccml_f32x16_load(&w[kh * 32]), acc_0);
              acc_1 = ccml_f32x16_fma(ccml_f32x16_splat(x[(oh * 2 + kh) * 12 - 45]), ccml_f32x16_load(&w[kh * 32 + 16]), acc_1);
            }
            ccml_f32x16_store(&y[oh * 32], ccml_f32x16_max(acc_0, ccml_f32x16_splat(0.0f)));
            ccml_f32x16_store_active(&y[oh * 32 + 16], acc_1, oh + 1);
          }
        }
        """,  # noqa: E501
        disjoint={"x", "y"},
    )


def test_integers_are_computed_unsigned_and_converted_back_once() -> None:
    check(
        """
        kernel dot(a: i8[4] const, b: i8[4] const, y: i32[4] inout, z: i8[4] out)
          for i:4
            y[i] = y[i] + convert<i32>(a[i]) * convert<i32>(b[i])
            z[i] = (a[i] - b[i]) / 3i8 + 1i8
        """,
        """
        static void kws_dot(const int8_t *a, const int8_t *b, int32_t *y, int8_t *z)
        {
          for (ptrdiff_t i = 0; i < 4; ++i)
          {
            y[i] = (int32_t)((uint32_t)y[i] + (uint32_t)a[i] * (uint32_t)b[i]);
            z[i] = (int8_t)((uint32_t)(int8_t)((int8_t)((uint32_t)a[i] - (uint32_t)b[i]) / 3) + 1u);
          }
        }
        """,
    )


def test_conditions_arrays_and_lets() -> None:
    check(
        """
        kernel pick(x: f32[8] const, m: bool[8] const, y: f32[8] out, n: bool[8] out)
          stack t: f32[2,4] align 16
          for i:8
            let big: bool = (x[i] > 1.5f32) & m[i]
            t[floordiv(i, 4), floormod(i, 4)] = select(big, x[i], -(x[i]))
            if big:
              y[i] = t[floordiv(i, 4), floormod(i, 4)]
            else:
              y[i] = f32(inf)
            n[i] = big != m[i]
        """,
        """
        static void kws_pick(const float *x, const uint8_t *m, float *y, uint8_t *n)
        {
          CCML_ALIGN(16) float t[8];
          for (ptrdiff_t i = 0; i < 8; ++i)
          {
            const _Bool big = x[i] > 1.5f && m[i] != 0;
            t[ccml_index_floordiv(i, 4) * 4 + ccml_index_floormod(i, 4)] = big ? x[i] : (-x[i]);
            if (big)
            {
              y[i] = t[ccml_index_floordiv(i, 4) * 4 + ccml_index_floormod(i, 4)];
            }
            else
            {
              y[i] = CCML_INFINITY;
            }
            n[i] = (uint8_t)(big != (m[i] != 0));
          }
        }
        """,
    )


def test_compilers_are_asked_not_to_unroll_rolled_loops() -> None:
    check(
        """
        kernel k(y: i32[4] out)
          rolled i:4
            y[i] = 0i32
        """,
        """
        static void kws_k(int32_t *y)
        {
          CCML_ROLLED
          for (ptrdiff_t i = 0; i < 4; ++i)
          {
            y[i] = 0;
          }
        }
        """,
    )


def test_names_never_clash_or_hide_others() -> None:
    check(
        """
        kernel odd("for": f32[4] const, "x/y:0": f32[4] out, kws_odd: f32[4] out, weights: f32[4] out)
          for "a b":2, "a_b":2
            let "a.b": f32 = "for"["a b"]
            "x/y:0"["a_b"] = "a.b"
            kws_odd["a b"] = 1.0f32
            weights[0] = 1.0f32
          for "a b":2
            kws_odd["a b"] = 0.0f32
        """,
        """
        static void kws_odd(const float *v_for, float *x_y_0, float *kws_odd_2, float *weights_2)
        {
          for (ptrdiff_t a_b = 0; a_b < 2; ++a_b)
          {
            for (ptrdiff_t a_b_2 = 0; a_b_2 < 2; ++a_b_2)
            {
              const float a_b_3 = v_for[a_b];
              x_y_0[a_b_2] = a_b_3;
              kws_odd_2[a_b] = 1.0f;
              weights_2[0] = 1.0f;
            }
          }
          for (ptrdiff_t a_b = 0; a_b < 2; ++a_b)
          {
            kws_odd_2[a_b] = 0.0f;
          }
        }
        """,
        reserved={"weights"},
    )


def test_what_is_not_used_does_not_warn() -> None:
    check(
        """
        kernel idle(x: f32[4] const, y: f32[] out)
          reg acc: f32[3]
          acc[1] = 1.0f32
          acc[2] = 2.0f32
          stack t: i32[0]
          let a: f32 = 1e-30f32
          y[] = acc[2]
        """,
        """
        static void kws_idle(const float *x, float *y)
        {
          (void)x;
          float acc_1;
          (void)acc_1;
          float acc_2;
          acc_1 = 1.0f;
          acc_2 = 2.0f;
          int32_t t[1];
          (void)t;
          const float a = 1e-30f;
          (void)a;
          y[0] = acc_2;
        }
        """,
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("kernel k(y: f32[4] out)\n  reg r: f32[4]\n  for i:4\n    r[i] = 1.0f32", "an index that is not constant"),
        ("kernel k(y: f32[4] out)\n  let v: indexx4 = splat<4>(3)", "no vector type indexx4"),
        ("kernel k(y: f32[6] out)\n  y[0 : 6] = 1.0f32x6", "no vector type f32x6"),
        ("kernel k(y: f32[4] out)\n  y[0] = erf:f32(y[1])", "no function 'erf'"),
    ],
)
def test_what_c_cannot_say_is_refused(text: str, reason: str) -> None:
    with pytest.raises(CcmlError, match=reason):
        c_text(text)


def test_large_kernels_print_in_no_time() -> None:
    """Two thousand statements are an everyday size after unrolling."""
    lines = [f"  acc[{n % 8}] = fma(splat<8>(x[{n}]), w[{n * 8} : 8], acc[{n % 8}])" for n in range(2000)]
    text = "kernel big(x: f32[2000] const, w: f32[16000] const)\n  reg acc: f32x8[8]\n" + "\n".join(lines)
    assert c_text(text).count("ccml_f32x8_fma") == 2000
