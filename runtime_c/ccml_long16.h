/* Part of the ccml runtime: i64 and u64 vectors of sixteen lanes, as pairs of eight where the machine has AVX-512.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_LONG16_H
#define CCML_LONG16_H

#include "ccml_long8.h"
#include "ccml_narrow16.h"

#if CCML_X86 && defined(__AVX512BW__) && defined(__AVX512VL__)

CCML_LONG_PAIR(16, 8)
#define CCML_LOW(x) (ccml_i32x8) _mm512_castsi512_si256((__m512i)(x))
#define CCML_HIGH(x) (ccml_i32x8) _mm512_extracti64x4_epi64((__m512i)(x), 1)
#define CCML_FROM_UNSIGNED(x) ccml_u32x8_to_i64((ccml_u32x8)(x))
#define CCML_JOINED(x, y) \
    (ccml_i32x16) _mm512_inserti64x4(_mm512_castsi256_si512((__m256i)(x)), (__m256i)(y), 1)
CCML_LONG_PAIR_WORDS(
    16, CCML_LOW, CCML_HIGH, ccml_i32x8_to_i64, CCML_FROM_UNSIGNED, ccml_i64x8_to_i32, CCML_JOINED, ccml_i64x8_product)
#undef CCML_LOW
#undef CCML_HIGH
#undef CCML_FROM_UNSIGNED
#undef CCML_JOINED
CCML_LONG_SELDOM(ccml_i64x16, int64_t, 16, ccml_boolx16)
CCML_LONG_SELDOM(ccml_u64x16, uint64_t, 16, ccml_boolx16)

#else
CCML_PORTABLE_LONGS(16)
#endif
CCML_LONG_CONVERSIONS(16)

#endif
