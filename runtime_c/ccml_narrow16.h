/* Part of the ccml runtime: i8, u8, i16 and u16 vectors of sixteen lanes, by AVX2 or AVX-512BW where the machine has them.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_NARROW16_H
#define CCML_NARROW16_H

#include "ccml_narrow.h"
#include "ccml_x16.h"

#if CCML_X86 && defined(__AVX2__)

#define CCML_NARROW16_OF(vector, ...) ((vector){__VA_ARGS__})
CCML_NARROW_TYPE(i8, int8_t, 16, 16, 16)
CCML_NARROW_TYPE(u8, uint8_t, 16, 16, 16)
CCML_NARROW_TYPE(i16, int16_t, 16, 16, 32)
CCML_NARROW_TYPE(u16, uint16_t, 16, 16, 32)

CCML_NARROW_MOVE(i8, int8_t, 16, __m128i, _mm_loadu_si128, _mm_storeu_si128)
CCML_NARROW_MOVE(u8, uint8_t, 16, __m128i, _mm_loadu_si128, _mm_storeu_si128)
CCML_NARROW_MOVE(i16, int16_t, 16, __m256i, _mm256_loadu_si256, _mm256_storeu_si256)
CCML_NARROW_MOVE(u16, uint16_t, 16, __m256i, _mm256_loadu_si256, _mm256_storeu_si256)

#if defined(__AVX512BW__) && defined(__AVX512VL__)
CCML_NARROW_I32(i8, 16, __m128i, __m512i, _mm512_cvtepi8_epi32, _mm512_cvtepi32_epi8)
CCML_NARROW_I32(u8, 16, __m128i, __m512i, _mm512_cvtepu8_epi32, _mm512_cvtepi32_epi8)
CCML_NARROW_I32(i16, 16, __m256i, __m512i, _mm512_cvtepi16_epi32, _mm512_cvtepi32_epi16)
CCML_NARROW_I32(u16, 16, __m256i, __m512i, _mm512_cvtepu16_epi32, _mm512_cvtepi32_epi16)

#define CCML_UNSIGNED_16(x) _mm512_cvtusepi32_epi8(_mm512_max_epi32(x, _mm512_setzero_si512()))
CCML_NARROW_PACKED(i8, 16, __m512i, _mm512_cvtsepi32_epi8)
CCML_NARROW_PACKED(u8, 16, __m512i, CCML_UNSIGNED_16)
#undef CCML_UNSIGNED_16

CCML_NARROW_MASKED(i8, int8_t, 16, __m128i, __mmask16, _mm_maskz_loadu_epi8, _mm_mask_storeu_epi8)
CCML_NARROW_MASKED(u8, uint8_t, 16, __m128i, __mmask16, _mm_maskz_loadu_epi8, _mm_mask_storeu_epi8)
CCML_NARROW_MASKED(i16, int16_t, 16, __m256i, __mmask16, _mm256_maskz_loadu_epi16, _mm256_mask_storeu_epi16)
CCML_NARROW_MASKED(u16, uint16_t, 16, __m256i, __mmask16, _mm256_maskz_loadu_epi16, _mm256_mask_storeu_epi16)
#else
#define CCML_NARROW16_WORDS(name, type) \
    CCML_PORTABLE_CONVERT(name, type, i32, int32_t, 16, (int32_t)) \
    CCML_PORTABLE_CONVERT(i32, int32_t, name, type, 16, (type)) \
    CCML_GNU_ACTIVE(name, type, 16)
CCML_NARROW16_WORDS(i8, int8_t)
CCML_NARROW16_WORDS(u8, uint8_t)
CCML_NARROW16_WORDS(i16, int16_t)
CCML_NARROW16_WORDS(u16, uint16_t)
#undef CCML_NARROW16_WORDS
CCML_NARROW_SATURATED(16)
#endif

CCML_NARROW_MIN_MAX(i8, 16, __m128i, _mm_min_epi8, _mm_max_epi8)
CCML_NARROW_MIN_MAX(u8, 16, __m128i, _mm_min_epu8, _mm_max_epu8)
CCML_NARROW_MIN_MAX(i16, 16, __m256i, _mm256_min_epi16, _mm256_max_epi16)
CCML_NARROW_MIN_MAX(u16, 16, __m256i, _mm256_min_epu16, _mm256_max_epu16)

/* The low bytes of halfwords. */
static inline __m128i ccml_narrow16_bytes(__m256i x)
{
    const __m256i low = _mm256_and_si256(x, _mm256_set1_epi16(0xff));
    return _mm_packus_epi16(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
}
CCML_NARROW_CONVERT(i8, u8, 16, x)
CCML_NARROW_CONVERT(u8, i8, 16, x)
CCML_NARROW_CONVERT(i16, u16, 16, x)
CCML_NARROW_CONVERT(u16, i16, 16, x)
CCML_NARROW_CONVERT(i8, i16, 16, _mm256_cvtepi8_epi16((__m128i)x))
CCML_NARROW_CONVERT(i8, u16, 16, _mm256_cvtepi8_epi16((__m128i)x))
CCML_NARROW_CONVERT(u8, i16, 16, _mm256_cvtepu8_epi16((__m128i)x))
CCML_NARROW_CONVERT(u8, u16, 16, _mm256_cvtepu8_epi16((__m128i)x))
CCML_NARROW_CONVERT(i16, i8, 16, ccml_narrow16_bytes((__m256i)x))
CCML_NARROW_CONVERT(i16, u8, 16, ccml_narrow16_bytes((__m256i)x))
CCML_NARROW_CONVERT(u16, i8, 16, ccml_narrow16_bytes((__m256i)x))
CCML_NARROW_CONVERT(u16, u8, 16, ccml_narrow16_bytes((__m256i)x))

CCML_NARROW_ALL(16)
CCML_NARROW_CONVERSIONS(16)

#else
CCML_PORTABLE_NARROWS(16)
CCML_NARROW_SATURATED(16)
#define CCML_NARROW16_OF(vector, ...) ((vector){{__VA_ARGS__}})
CCML_NARROW_CONVERSIONS(16)
CCML_NARROW_AMONG(16)
#endif

#endif
