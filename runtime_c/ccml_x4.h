/* Part of the ccml runtime: f32, i32, u32 and bool vectors of four lanes, by SSE2, NEON or Helium where the machine has
   them. NEON of 32-bit Arm and Helium take denormal numbers for zero; everywhere else the bits are those of ccml_vector.h.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_X4_H
#define CCML_X4_H

#include "ccml_gnu_vector.h"
#include "ccml_mve.h"

#if CCML_X86 || CCML_NEON || CCML_MVE

CCML_GNU_BOOL(ccml_boolx4, 4, 16)
CCML_GNU_BOOL_MOVE(ccml_boolx4, 4)
CCML_GNU_NUMBERS(4, 16)
#define CCML_X4_OF(vector, ...) ((vector){__VA_ARGS__})
CCML_GNU_ORDER(ccml_i32x4, ccml_boolx4)
CCML_GNU_ORDER(ccml_u32x4, ccml_boolx4)
#if CCML_MVE
CCML_MVE_SELECT(ccml_f32x4, ccml_boolx4)
CCML_MVE_SELECT(ccml_i32x4, ccml_boolx4)
CCML_MVE_SELECT(ccml_u32x4, ccml_boolx4)
#else
CCML_GNU_SELECT(ccml_f32x4, ccml_boolx4)
CCML_GNU_SELECT(ccml_i32x4, ccml_boolx4)
CCML_GNU_SELECT(ccml_u32x4, ccml_boolx4)
#endif

#if CCML_MVE
CCML_GNU_ARITHMETIC(ccml_f32x4)
CCML_MVE_COMPARE(ccml_f32x4, ccml_boolx4, eq, "eq", "%q1, %q2")
CCML_MVE_COMPARE(ccml_f32x4, ccml_boolx4, ne, "ne", "%q1, %q2")
CCML_MVE_COMPARE(ccml_f32x4, ccml_boolx4, lt, "gt", "%q2, %q1")
CCML_MVE_COMPARE(ccml_f32x4, ccml_boolx4, le, "ge", "%q2, %q1")
CCML_MVE_COMPARE(ccml_f32x4, ccml_boolx4, gt, "gt", "%q1, %q2")
CCML_MVE_COMPARE(ccml_f32x4, ccml_boolx4, ge, "ge", "%q1, %q2")
CCML_MVE_CHOOSE(ccml_f32x4, min, "%q2, %q1")
CCML_MVE_CHOOSE(ccml_f32x4, max, "%q1, %q2")
CCML_GNU_SCALAR1(ccml_f32x4, ccml_f32, 4, sqrt)
#elif CCML_X86
CCML_GNU_ARITHMETIC(ccml_f32x4)
CCML_GNU_ORDER(ccml_f32x4, ccml_boolx4)
CCML_GNU2(ccml_f32x4, min, _mm_min_ps(x, y))
CCML_GNU2(ccml_f32x4, max, _mm_max_ps(x, y))
CCML_GNU1(ccml_f32x4, sqrt, _mm_sqrt_ps(x))
#else
CCML_GNU2(ccml_f32x4, add, vaddq_f32((float32x4_t)x, (float32x4_t)y))
CCML_GNU2(ccml_f32x4, sub, vsubq_f32((float32x4_t)x, (float32x4_t)y))
CCML_GNU2(ccml_f32x4, mul, vmulq_f32((float32x4_t)x, (float32x4_t)y))
CCML_GNU_COMPARE(ccml_f32x4, ccml_boolx4, eq, vceqq_f32((float32x4_t)x, (float32x4_t)y))
CCML_GNU_COMPARE(ccml_f32x4, ccml_boolx4, ne, vmvnq_u32(vceqq_f32((float32x4_t)x, (float32x4_t)y)))
CCML_GNU_COMPARE(ccml_f32x4, ccml_boolx4, lt, vcltq_f32((float32x4_t)x, (float32x4_t)y))
CCML_GNU_COMPARE(ccml_f32x4, ccml_boolx4, le, vcleq_f32((float32x4_t)x, (float32x4_t)y))
CCML_GNU_COMPARE(ccml_f32x4, ccml_boolx4, gt, vcgtq_f32((float32x4_t)x, (float32x4_t)y))
CCML_GNU_COMPARE(ccml_f32x4, ccml_boolx4, ge, vcgeq_f32((float32x4_t)x, (float32x4_t)y))
CCML_GNU_MIN_MAX(ccml_f32x4)
#if defined(__aarch64__)
CCML_GNU1(ccml_f32x4, sqrt, vsqrtq_f32((float32x4_t)x))
#else
CCML_GNU_SCALAR1(ccml_f32x4, ccml_f32, 4, sqrt)
#endif
#endif

#if defined(__SSE4_1__)
CCML_GNU2(ccml_i32x4, min, _mm_min_epi32((__m128i)x, (__m128i)y))
CCML_GNU2(ccml_i32x4, max, _mm_max_epi32((__m128i)x, (__m128i)y))
CCML_GNU2(ccml_u32x4, min, _mm_min_epu32((__m128i)x, (__m128i)y))
CCML_GNU2(ccml_u32x4, max, _mm_max_epu32((__m128i)x, (__m128i)y))
CCML_GNU1(ccml_f32x4, floor, _mm_round_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC))
CCML_GNU1(ccml_f32x4, ceil, _mm_round_ps(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC))
CCML_GNU1(ccml_f32x4, trunc, _mm_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC))
CCML_GNU1(ccml_f32x4, round_even, _mm_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
#else
#if CCML_MVE
CCML_MVE2(ccml_i32x4, min, "vmin.s32")
CCML_MVE2(ccml_i32x4, max, "vmax.s32")
CCML_MVE2(ccml_u32x4, min, "vmin.u32")
CCML_MVE2(ccml_u32x4, max, "vmax.u32")
#else
CCML_GNU_MIN_MAX(ccml_i32x4)
CCML_GNU_MIN_MAX(ccml_u32x4)
#endif
#if CCML_MVE
CCML_MVE1(ccml_f32x4, floor, "vrintm.f32")
CCML_MVE1(ccml_f32x4, ceil, "vrintp.f32")
CCML_MVE1(ccml_f32x4, trunc, "vrintz.f32")
CCML_MVE1(ccml_f32x4, round_even, "vrintn.f32")
#elif CCML_NEON && (defined(__aarch64__) || defined(__ARM_FEATURE_DIRECTED_ROUNDING))
CCML_GNU1(ccml_f32x4, floor, vrndmq_f32((float32x4_t)x))
CCML_GNU1(ccml_f32x4, ceil, vrndpq_f32((float32x4_t)x))
CCML_GNU1(ccml_f32x4, trunc, vrndq_f32((float32x4_t)x))
CCML_GNU1(ccml_f32x4, round_even, vrndnq_f32((float32x4_t)x))
#else
CCML_GNU_SCALAR1(ccml_f32x4, ccml_f32, 4, floor)
CCML_GNU_SCALAR1(ccml_f32x4, ccml_f32, 4, ceil)
CCML_GNU_SCALAR1(ccml_f32x4, ccml_f32, 4, trunc)
CCML_GNU_SCALAR1(ccml_f32x4, ccml_f32, 4, round_even)
#endif
#endif

#if CCML_MVE
CCML_MVE2(ccml_i32x4, mul_high, "vmulh.s32")
CCML_MVE_FMA(ccml_f32x4)
#elif CCML_X86 && defined(__FMA__)
CCML_GNU3(ccml_f32x4, fma, _mm_fmadd_ps(x, y, z))
#elif CCML_NEON && defined(__ARM_FEATURE_FMA)
CCML_GNU3(ccml_f32x4, fma, vfmaq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y))
#else
CCML_GNU_SCALAR3(ccml_f32x4, ccml_f32, 4, fma)
#endif

#if defined(__AVX2__)
static inline __m128i ccml_x4_first(ptrdiff_t active)
{
    return (__m128i)(ccml_i32x4_splat((int32_t)active) > (ccml_i32x4){0, 1, 2, 3});
}
#define CCML_MASK_LOAD(from, mask) _mm_maskload_epi32((const int *)from, mask)
#define CCML_MASK_STORE(to, mask, x) _mm_maskstore_epi32((int *)to, mask, (__m128i)x)
CCML_GNU_MASKED(f32, float, 4, ccml_x4_first, _mm_maskload_ps, _mm_maskstore_ps)
CCML_GNU_MASKED(i32, int32_t, 4, ccml_x4_first, CCML_MASK_LOAD, CCML_MASK_STORE)
CCML_GNU_MASKED(u32, uint32_t, 4, ccml_x4_first, CCML_MASK_LOAD, CCML_MASK_STORE)
#undef CCML_MASK_LOAD
#undef CCML_MASK_STORE
#elif CCML_MVE
CCML_MVE_ACTIVE(ccml_f32x4, float)
CCML_MVE_ACTIVE(ccml_i32x4, int32_t)
CCML_MVE_ACTIVE(ccml_u32x4, uint32_t)
#else
CCML_GNU_ACTIVE(f32, float, 4)
CCML_GNU_ACTIVE(i32, int32_t, 4)
CCML_GNU_ACTIVE(u32, uint32_t, 4)
#endif

#if CCML_X86 && defined(__AVX512VNNI__) && defined(__AVX512VL__)
CCML_X86_DOT(ccml_i32x4, __m128i, dot4_u8i8, _mm_dpbusd_epi32)
CCML_X86_DOT(ccml_i32x4, __m128i, dot2_i16i16, _mm_dpwssd_epi32)
#elif CCML_X86 && defined(__AVXVNNI__)
CCML_X86_DOT(ccml_i32x4, __m128i, dot4_u8i8, _mm_dpbusd_avx_epi32)
CCML_X86_DOT(ccml_i32x4, __m128i, dot2_i16i16, _mm_dpwssd_avx_epi32)
#elif CCML_X86
CCML_GNU_DOT(ccml_i32x4, 4, dot4_u8i8)
CCML_X86_PAIRS(ccml_i32x4, __m128i, _mm_madd_epi16)
#else
CCML_GNU_DOT(ccml_i32x4, 4, dot4_u8i8)
CCML_GNU_DOT(ccml_i32x4, 4, dot2_i16i16)
#endif
#if CCML_NEON && defined(__ARM_FEATURE_DOTPROD)
CCML_GNU3(ccml_i32x4, dot4_i8i8, vdotq_s32((int32x4_t)x, (int8x16_t)z, (int8x16_t)y))
#else
CCML_GNU_DOT(ccml_i32x4, 4, dot4_i8i8)
#endif
#if CCML_X86
CCML_X86_APART(ccml_i32x4, __m128i, _mm_srli_epi16, _mm_srai_epi16, _mm_slli_epi16)
#else
CCML_GNU_APART(ccml_i32x4, 4)
#endif

CCML_GNU_REDUCE4(ccml_f32x4, float, add, CCML_ADD)
CCML_GNU_REDUCE4(ccml_f32x4, float, mul, CCML_MUL)
CCML_GNU_REDUCE4(ccml_f32x4, float, min, ccml_f32_min)
CCML_GNU_REDUCE4(ccml_f32x4, float, max, ccml_f32_max)
#if CCML_MVE
CCML_MVE_REDUCE_ADD(ccml_i32x4, int32_t, "vaddv.s32")
CCML_MVE_REDUCE_ADD(ccml_u32x4, uint32_t, "vaddv.u32")
#else
CCML_GNU_REDUCE4(ccml_i32x4, int32_t, add, CCML_ADD_I32)
CCML_GNU_REDUCE4(ccml_u32x4, uint32_t, add, CCML_ADD)
#endif
CCML_GNU_REDUCE4(ccml_i32x4, int32_t, mul, CCML_MUL_I32)
CCML_GNU_REDUCE4(ccml_i32x4, int32_t, min, ccml_i32_min)
CCML_GNU_REDUCE4(ccml_i32x4, int32_t, max, ccml_i32_max)
CCML_GNU_REDUCE4(ccml_u32x4, uint32_t, mul, CCML_MUL)
CCML_GNU_REDUCE4(ccml_u32x4, uint32_t, min, ccml_u32_min)
CCML_GNU_REDUCE4(ccml_u32x4, uint32_t, max, ccml_u32_max)

CCML_GNU_BOOL_CONVERT(ccml_boolx4, ccml_f32x4, ccml_i32x4, ccml_u32x4)

#else
CCML_PORTABLE_X32(4)
#define CCML_X4_OF(vector, ...) ((vector){{__VA_ARGS__}})
#endif

#if CCML_X86 && defined(__SSE4_1__)
/* The upper words of products. */
static inline ccml_i32x4 ccml_i32x4_mul_high(ccml_i32x4 x, ccml_i32x4 y)
{
    const __m128i even = _mm_mul_epi32((__m128i)x, (__m128i)y);
    const __m128i odd = _mm_mul_epi32(_mm_srli_epi64((__m128i)x, 32), _mm_srli_epi64((__m128i)y, 32));
    return (ccml_i32x4)_mm_blend_epi16(_mm_srli_epi64(even, 32), odd, 0xcc);
}
#elif CCML_NEON && defined(__aarch64__)
/* The upper words of products. */
static inline ccml_i32x4 ccml_i32x4_mul_high(ccml_i32x4 x, ccml_i32x4 y)
{
    const int64x2_t low = vmull_s32(vget_low_s32((int32x4_t)x), vget_low_s32((int32x4_t)y));
    const int64x2_t high = vmull_high_s32((int32x4_t)x, (int32x4_t)y);
    return (ccml_i32x4)vuzp2q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high));
}
#elif !CCML_MVE
/* The upper words of products. */
static inline ccml_i32x4 ccml_i32x4_mul_high(ccml_i32x4 x, ccml_i32x4 y)
{
    int32_t to[4], by[4];
    ccml_i32x4_store(to, x);
    ccml_i32x4_store(by, y);
    for (int i = 0; i < 4; ++i) {
        to[i] = (int32_t)((int64_t)to[i] * by[i] >> 32);
    }
    return ccml_i32x4_load(to);
}
#endif

#if !CCML_MVE
/* fma whose first factor is the same in all lanes. */
static inline ccml_f32x4 ccml_f32x4_fma_splat(float x, ccml_f32x4 y, ccml_f32x4 z)
{
    return ccml_f32x4_fma(ccml_f32x4_splat(x), y, z);
}
#endif

#endif
