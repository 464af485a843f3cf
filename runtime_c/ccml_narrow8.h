/* Part of the ccml runtime: i8, u8, i16 and u16 vectors of eight lanes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_NARROW8_H
#define CCML_NARROW8_H

#include "ccml_narrow.h"
#include "ccml_x8.h"

#if defined(__AVX2__) && CCML_X86

CCML_GNU_NARROWS(8, 8, 16)
CCML_GNU_WIDEN(i8, 8, _mm256_cvtepi8_epi32(_mm_set_epi64x(0, (long long)x)))
CCML_GNU_WIDEN(u8, 8, _mm256_cvtepu8_epi32(_mm_set_epi64x(0, (long long)x)))
CCML_GNU_WIDEN(i16, 8, _mm256_cvtepi16_epi32((__m128i)x))
CCML_GNU_WIDEN(u16, 8, _mm256_cvtepu16_epi32((__m128i)x))

static inline long long ccml_x8_low_bytes(ccml_i32x8 x)
{
    const __m128i four = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i low = _mm256_shuffle_epi8((__m256i)x, _mm256_broadcastsi128_si256(four));
    return _mm_unpacklo_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1))[0];
}

static inline __m128i ccml_x8_low_halves(ccml_i32x8 x)
{
    const __m128i four = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i low = _mm256_shuffle_epi8((__m256i)x, _mm256_broadcastsi128_si256(four));
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(low, 8));
}

CCML_GNU_TRUNCATE(i8, 8, ccml_x8_low_bytes)
CCML_GNU_TRUNCATE(u8, 8, ccml_x8_low_bytes)
CCML_GNU_TRUNCATE(i16, 8, ccml_x8_low_halves)
CCML_GNU_TRUNCATE(u16, 8, ccml_x8_low_halves)

#else
CCML_PORTABLE_NARROWS(8)
#endif

CCML_NARROW_CONVERSIONS(8)

#endif
