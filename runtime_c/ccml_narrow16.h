/* Part of the ccml runtime: i8, u8, i16 and u16 vectors of sixteen lanes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_NARROW16_H
#define CCML_NARROW16_H

#include "ccml_narrow.h"
#include "ccml_x16.h"

#if defined(__AVX512F__) && CCML_X86

CCML_GNU_NARROWS(16, 16, 32)
CCML_GNU_WIDEN(i8, 16, _mm512_cvtepi8_epi32((__m128i)x))
CCML_GNU_WIDEN(u8, 16, _mm512_cvtepu8_epi32((__m128i)x))
CCML_GNU_WIDEN(i16, 16, _mm512_cvtepi16_epi32((__m256i)x))
CCML_GNU_WIDEN(u16, 16, _mm512_cvtepu16_epi32((__m256i)x))

static inline __m128i ccml_x16_low_bytes(ccml_i32x16 x)
{
    return _mm512_cvtepi32_epi8((__m512i)x);
}

static inline __m256i ccml_x16_low_halves(ccml_i32x16 x)
{
    return _mm512_cvtepi32_epi16((__m512i)x);
}

CCML_GNU_TRUNCATE(i8, 16, ccml_x16_low_bytes)
CCML_GNU_TRUNCATE(u8, 16, ccml_x16_low_bytes)
CCML_GNU_TRUNCATE(i16, 16, ccml_x16_low_halves)
CCML_GNU_TRUNCATE(u16, 16, ccml_x16_low_halves)

#else
CCML_PORTABLE_NARROWS(16)
#endif

CCML_NARROW_CONVERSIONS(16)

#endif
