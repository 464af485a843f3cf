/* Part of the ccml runtime: i64 and u64 vectors of four lanes, by AVX2, or by two registers of SSE4.1 or of 64-bit NEON,
   where the machine has them.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_LONG4_H
#define CCML_LONG4_H

#include "ccml_long.h"
#include "ccml_narrow4.h"

#if CCML_X86 && defined(__AVX2__)

CCML_LONG_REGISTER(4, 32)
#if defined(__AVX512VL__)
CCML_GNU2(ccml_i64x4, shr, _mm256_srav_epi64((__m256i)x, (__m256i)y))
#define CCML_TO_WORDS(x) _mm256_cvtepi64_epi32((__m256i)(x))
#else
CCML_LONG_SHIFT(ccml_i64x4, ccml_u64x4)
#define CCML_TO_WORDS(x) \
    _mm256_castsi256_si128(_mm256_permutevar8x32_epi32((__m256i)(x), _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7)))
#endif
#define CCML_PRODUCT(x, y) _mm256_mul_epi32(_mm256_cvtepi32_epi64(x), _mm256_cvtepi32_epi64(y))
CCML_LONG_WORDS(4, __m128i, _mm256_cvtepi32_epi64, _mm256_cvtepu32_epi64, CCML_TO_WORDS, CCML_PRODUCT)
#undef CCML_TO_WORDS
#undef CCML_PRODUCT

#elif CCML_X86 && defined(__SSE4_1__)

CCML_LONG_REGISTER(2, 16)
CCML_LONG_SHIFT(ccml_i64x2, ccml_u64x2)
CCML_LONG_PAIR(4, 2)
#define CCML_LOW(x) (__m128i)(x)
#define CCML_HIGH(x) _mm_unpackhi_epi64((__m128i)(x), (__m128i)(x))
#define CCML_FROM_WORDS(x) (ccml_i64x2) _mm_cvtepi32_epi64(x)
#define CCML_FROM_UNSIGNED(x) (ccml_i64x2) _mm_cvtepu32_epi64(x)
#define CCML_JOINED(x, y) (ccml_i32x4) _mm_shuffle_ps((__m128)(x), (__m128)(y), 0x88)
#define CCML_PRODUCT(x, y) (ccml_i64x2) _mm_mul_epi32(_mm_cvtepi32_epi64(x), _mm_cvtepi32_epi64(y))
CCML_LONG_PAIR_WORDS(4, CCML_LOW, CCML_HIGH, CCML_FROM_WORDS, CCML_FROM_UNSIGNED, , CCML_JOINED, CCML_PRODUCT)
#undef CCML_LOW
#undef CCML_HIGH
#undef CCML_FROM_WORDS
#undef CCML_FROM_UNSIGNED
#undef CCML_JOINED
#undef CCML_PRODUCT

#elif CCML_NEON && defined(__aarch64__)

CCML_LONG_REGISTER(2, 16)
CCML_GNU2(ccml_i64x2, shr, x >> y)
CCML_LONG_PAIR(4, 2)
#define CCML_LOW(x) vget_low_s32((int32x4_t)(x))
#define CCML_HIGH(x) vget_high_s32((int32x4_t)(x))
#define CCML_FROM_WORDS(x) (ccml_i64x2) vmovl_s32(x)
#define CCML_FROM_UNSIGNED(x) (ccml_i64x2) vmovl_u32(vreinterpret_u32_s32(x))
#define CCML_TO_WORDS(x) vmovn_s64((int64x2_t)(x))
#define CCML_JOINED(x, y) (ccml_i32x4) vcombine_s32(x, y)
#define CCML_PRODUCT(x, y) (ccml_i64x2) vmull_s32(x, y)
CCML_LONG_PAIR_WORDS(
    4, CCML_LOW, CCML_HIGH, CCML_FROM_WORDS, CCML_FROM_UNSIGNED, CCML_TO_WORDS, CCML_JOINED, CCML_PRODUCT)
#undef CCML_LOW
#undef CCML_HIGH
#undef CCML_FROM_WORDS
#undef CCML_FROM_UNSIGNED
#undef CCML_TO_WORDS
#undef CCML_JOINED
#undef CCML_PRODUCT

#else
#define CCML_LONG4_PORTABLE 1
#endif

#if defined(CCML_LONG4_PORTABLE)
CCML_PORTABLE_LONGS(4)
#else
CCML_LONG_SELDOM(ccml_i64x4, int64_t, 4, ccml_boolx4)
CCML_LONG_SELDOM(ccml_u64x4, uint64_t, 4, ccml_boolx4)
#endif
CCML_LONG_CONVERSIONS(4)

#endif
