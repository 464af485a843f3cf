/* Part of the ccml runtime: i64 and u64 vectors of eight lanes, by AVX-512, or by pairs of four where the machine has
   these.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_LONG8_H
#define CCML_LONG8_H

#include "ccml_long4.h"
#include "ccml_narrow8.h"

#if CCML_X86 && defined(__AVX512F__) && defined(__AVX512VL__)

CCML_LONG_REGISTER(8, 64)
CCML_GNU2(ccml_i64x8, shr, _mm512_srav_epi64((__m512i)x, (__m512i)y))
#define CCML_TO_WORDS(x) _mm512_cvtepi64_epi32((__m512i)(x))
#define CCML_PRODUCT(x, y) _mm512_mul_epi32(_mm512_cvtepi32_epi64(x), _mm512_cvtepi32_epi64(y))
CCML_LONG_WORDS(8, __m256i, _mm512_cvtepi32_epi64, _mm512_cvtepu32_epi64, CCML_TO_WORDS, CCML_PRODUCT)
#undef CCML_TO_WORDS
#undef CCML_PRODUCT

#elif CCML_X86 && defined(__AVX2__)

CCML_LONG_PAIR(8, 4)
#define CCML_LOW(x) (ccml_i32x4) _mm256_castsi256_si128((__m256i)(x))
#define CCML_HIGH(x) (ccml_i32x4) _mm256_extracti128_si256((__m256i)(x), 1)
#define CCML_FROM_UNSIGNED(x) ccml_u32x4_to_i64((ccml_u32x4)(x))
#define CCML_JOINED(x, y) (ccml_i32x8) _mm256_set_m128i((__m128i)(x), (__m128i)(y))
#define CCML_JOINED_IN_ORDER(x, y) CCML_JOINED(y, x)
CCML_LONG_PAIR_WORDS(
    8, CCML_LOW, CCML_HIGH, ccml_i32x4_to_i64, CCML_FROM_UNSIGNED, ccml_i64x4_to_i32, CCML_JOINED_IN_ORDER,
    ccml_i64x4_product)
#undef CCML_LOW
#undef CCML_HIGH
#undef CCML_FROM_UNSIGNED
#undef CCML_JOINED
#undef CCML_JOINED_IN_ORDER

#elif CCML_NEON && defined(__aarch64__)

CCML_LONG_PAIR(8, 4)
#define CCML_LOW(x) (x).low
#define CCML_HIGH(x) (x).high
#define CCML_JOINED(x, y) \
    (ccml_i32x8) \
    { \
        x, y \
    }
CCML_LONG_PAIR_WORDS(
    8, CCML_LOW, CCML_HIGH, ccml_i32x4_to_i64, ccml_u32x4_to_i64, ccml_i64x4_to_i32, CCML_JOINED, ccml_i64x4_product)
#undef CCML_LOW
#undef CCML_HIGH
#undef CCML_JOINED

#else
#define CCML_LONG8_PORTABLE 1
#endif

#if defined(CCML_LONG8_PORTABLE)
CCML_PORTABLE_LONGS(8)
#else
CCML_LONG_SELDOM(ccml_i64x8, int64_t, 8, ccml_boolx8)
CCML_LONG_SELDOM(ccml_u64x8, uint64_t, 8, ccml_boolx8)
#endif
CCML_LONG_CONVERSIONS(8)

#endif
