/* Part of the ccml runtime: f32, i32, u32 and bool vectors of eight lanes, by AVX, or by two of NEON, where the machine
   has them.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_X8_H
#define CCML_X8_H

#include "ccml_pair.h"

#if CCML_X86 && defined(__AVX__)

CCML_GNU_BOOL(ccml_boolx8, 8, 32)
CCML_GNU_BOOL_MOVE(ccml_boolx8, 8)
CCML_GNU_NUMBERS(8, 32)
#define CCML_X8_OF(vector, ...) ((vector){__VA_ARGS__})
CCML_GNU_ARITHMETIC(ccml_f32x8)
CCML_GNU_ORDER(ccml_f32x8, ccml_boolx8)
CCML_GNU_ORDER(ccml_i32x8, ccml_boolx8)
CCML_GNU_ORDER(ccml_u32x8, ccml_boolx8)
CCML_GNU_SELECT(ccml_f32x8, ccml_boolx8)
CCML_GNU_SELECT(ccml_i32x8, ccml_boolx8)
CCML_GNU_SELECT(ccml_u32x8, ccml_boolx8)

CCML_GNU2(ccml_f32x8, min, _mm256_min_ps(x, y))
CCML_GNU2(ccml_f32x8, max, _mm256_max_ps(x, y))
CCML_GNU1(ccml_f32x8, sqrt, _mm256_sqrt_ps(x))
CCML_GNU1(ccml_f32x8, floor, _mm256_round_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC))
CCML_GNU1(ccml_f32x8, ceil, _mm256_round_ps(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC))
CCML_GNU1(ccml_f32x8, trunc, _mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC))
CCML_GNU1(ccml_f32x8, round_even, _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))

#if defined(__FMA__)
CCML_GNU3(ccml_f32x8, fma, _mm256_fmadd_ps(x, y, z))
#else
CCML_GNU_SCALAR3(ccml_f32x8, ccml_f32, 8, fma)
#endif

#if defined(__AVX2__)
static inline __m256i ccml_x8_first(ptrdiff_t active)
{
    return (__m256i)(ccml_i32x8_splat((int32_t)active) > (ccml_i32x8){0, 1, 2, 3, 4, 5, 6, 7});
}
#define CCML_MASK_LOAD(from, mask) _mm256_maskload_epi32((const int *)from, mask)
#define CCML_MASK_STORE(to, mask, x) _mm256_maskstore_epi32((int *)to, mask, (__m256i)x)
CCML_GNU_MASKED(f32, float, 8, ccml_x8_first, _mm256_maskload_ps, _mm256_maskstore_ps)
CCML_GNU_MASKED(i32, int32_t, 8, ccml_x8_first, CCML_MASK_LOAD, CCML_MASK_STORE)
CCML_GNU_MASKED(u32, uint32_t, 8, ccml_x8_first, CCML_MASK_LOAD, CCML_MASK_STORE)
#undef CCML_MASK_LOAD
#undef CCML_MASK_STORE
CCML_GNU2(ccml_i32x8, min, _mm256_min_epi32((__m256i)x, (__m256i)y))
CCML_GNU2(ccml_i32x8, max, _mm256_max_epi32((__m256i)x, (__m256i)y))
CCML_GNU2(ccml_u32x8, min, _mm256_min_epu32((__m256i)x, (__m256i)y))
CCML_GNU2(ccml_u32x8, max, _mm256_max_epu32((__m256i)x, (__m256i)y))
#else
CCML_GNU_ACTIVE(f32, float, 8)
CCML_GNU_ACTIVE(i32, int32_t, 8)
CCML_GNU_ACTIVE(u32, uint32_t, 8)
CCML_GNU_MIN_MAX(ccml_i32x8)
CCML_GNU_MIN_MAX(ccml_u32x8)
#endif

#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
CCML_X86_DOT(ccml_i32x8, __m256i, dot4_u8i8, _mm256_dpbusd_epi32)
CCML_X86_DOT(ccml_i32x8, __m256i, dot2_i16i16, _mm256_dpwssd_epi32)
#elif defined(__AVXVNNI__)
CCML_X86_DOT(ccml_i32x8, __m256i, dot4_u8i8, _mm256_dpbusd_avx_epi32)
CCML_X86_DOT(ccml_i32x8, __m256i, dot2_i16i16, _mm256_dpwssd_avx_epi32)
#elif defined(__AVX2__)
CCML_GNU_DOT(ccml_i32x8, 8, dot4_u8i8)
CCML_X86_PAIRS(ccml_i32x8, __m256i, _mm256_madd_epi16)
#else
CCML_GNU_DOT(ccml_i32x8, 8, dot4_u8i8)
CCML_GNU_DOT(ccml_i32x8, 8, dot2_i16i16)
#endif
CCML_GNU_DOT(ccml_i32x8, 8, dot4_i8i8)
#if defined(__AVX2__)
CCML_X86_APART(ccml_i32x8, __m256i, _mm256_srli_epi16, _mm256_srai_epi16, _mm256_slli_epi16)
#else
CCML_GNU_APART(ccml_i32x8, 8)
#endif

#define CCML_LOWER(x) (ccml_f32x4) _mm256_castps256_ps128(x)
#define CCML_UPPER(x) (ccml_f32x4) _mm256_extractf128_ps(x, 1)
CCML_GNU_REDUCE_ALL(ccml_f32x8, float, ccml_f32x4)
#undef CCML_LOWER
#undef CCML_UPPER
#define CCML_LOWER(x) (ccml_i32x4) _mm256_castsi256_si128((__m256i)x)
#define CCML_UPPER(x) (ccml_i32x4) _mm256_extractf128_si256((__m256i)x, 1)
CCML_GNU_REDUCE_ALL(ccml_i32x8, int32_t, ccml_i32x4)
#undef CCML_LOWER
#undef CCML_UPPER
#define CCML_LOWER(x) (ccml_u32x4) _mm256_castsi256_si128((__m256i)x)
#define CCML_UPPER(x) (ccml_u32x4) _mm256_extractf128_si256((__m256i)x, 1)
CCML_GNU_REDUCE_ALL(ccml_u32x8, uint32_t, ccml_u32x4)
#undef CCML_LOWER
#undef CCML_UPPER

CCML_GNU_BOOL_CONVERT(ccml_boolx8, ccml_f32x8, ccml_i32x8, ccml_u32x8)

#elif CCML_NEON

CCML_PAIR_BOOL(ccml_boolx8, ccml_boolx4)
CCML_PAIR_FLOAT(ccml_f32x8, ccml_f32x4, float, ccml_boolx8)
CCML_PAIR_INTEGER(ccml_i32x8, ccml_i32x4, int32_t, ccml_boolx8)
CCML_PAIR_INTEGER(ccml_u32x8, ccml_u32x4, uint32_t, ccml_boolx8)
CCML_PAIR3(ccml_i32x8, ccml_i32x4, dot4_u8i8)
CCML_PAIR3(ccml_i32x8, ccml_i32x4, dot4_i8i8)
CCML_PAIR3(ccml_i32x8, ccml_i32x4, dot2_i16i16)
CCML_PAIR1(ccml_i32x8, ccml_i32x4, even_bytes)
CCML_PAIR1(ccml_i32x8, ccml_i32x4, odd_bytes)
CCML_PAIR1(ccml_i32x8, ccml_i32x4, widen_even)
CCML_PAIR1(ccml_i32x8, ccml_i32x4, widen_odd)
CCML_PAIR1_TO(ccml_f32x8, ccml_f32x4, to_i32, ccml_i32x8)
CCML_PAIR1_TO(ccml_f32x8, ccml_f32x4, to_u32, ccml_u32x8)
CCML_PAIR1_TO(ccml_i32x8, ccml_i32x4, to_f32, ccml_f32x8)
CCML_PAIR1_TO(ccml_i32x8, ccml_i32x4, to_u32, ccml_u32x8)
CCML_PAIR1_TO(ccml_u32x8, ccml_u32x4, to_f32, ccml_f32x8)
CCML_PAIR1_TO(ccml_u32x8, ccml_u32x4, to_i32, ccml_i32x8)
CCML_PAIR1_TO(ccml_boolx8, ccml_boolx4, to_f32, ccml_f32x8)
CCML_PAIR1_TO(ccml_boolx8, ccml_boolx4, to_i32, ccml_i32x8)
CCML_PAIR1_TO(ccml_boolx8, ccml_boolx4, to_u32, ccml_u32x8)
CCML_PAIR_BITCAST(f32, i32)
CCML_PAIR_BITCAST(f32, u32)
CCML_PAIR_BITCAST(i32, f32)
CCML_PAIR_BITCAST(i32, u32)
CCML_PAIR_BITCAST(u32, f32)
CCML_PAIR_BITCAST(u32, i32)
#define CCML_X8_OF(vector, a, b, c, d, e, f, g, h) ((vector){{a, b, c, d}, {e, f, g, h}})

#else
CCML_PORTABLE_X32(8)
#define CCML_X8_OF(vector, ...) ((vector){{__VA_ARGS__}})
#endif

#if CCML_X86 && defined(__AVX2__)
/* The upper words of products. */
static inline ccml_i32x8 ccml_i32x8_mul_high(ccml_i32x8 x, ccml_i32x8 y)
{
    const __m256i even = _mm256_mul_epi32((__m256i)x, (__m256i)y);
    const __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64((__m256i)x, 32), _mm256_srli_epi64((__m256i)y, 32));
    return (ccml_i32x8)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}
#elif CCML_NEON
CCML_PAIR2(ccml_i32x8, ccml_i32x4, mul_high)
#else
CCML_LANES_MUL_HIGH(ccml_i32x8, 8)
#endif

#endif
