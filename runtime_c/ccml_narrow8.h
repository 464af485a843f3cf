/* Part of the ccml runtime: i8, u8, i16 and u16 vectors of eight lanes, by AVX2 or AVX-512 where the machine has them.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_NARROW8_H
#define CCML_NARROW8_H

#include "ccml_narrow.h"
#include "ccml_x8.h"

#if CCML_X86 && defined(__AVX2__)

#define CCML_NARROW8_OF(vector, ...) ((vector){__VA_ARGS__})
CCML_NARROW_TYPE(i8, int8_t, 8, 16, 16)
CCML_NARROW_TYPE(u8, uint8_t, 8, 16, 16)
CCML_NARROW_TYPE(i16, int16_t, 8, 8, 16)
CCML_NARROW_TYPE(u16, uint16_t, 8, 8, 16)

CCML_NARROW_MOVE(i8, int8_t, 8, __m128i, _mm_loadl_epi64, _mm_storel_epi64)
CCML_NARROW_MOVE(u8, uint8_t, 8, __m128i, _mm_loadl_epi64, _mm_storel_epi64)
CCML_NARROW_MOVE(i16, int16_t, 8, __m128i, _mm_loadu_si128, _mm_storeu_si128)
CCML_NARROW_MOVE(u16, uint16_t, 8, __m128i, _mm_loadu_si128, _mm_storeu_si128)

/* Both halves of the register packed, one after the other. */
static inline __m128i ccml_narrow8_halves(__m256i x)
{
    const __m256i low = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1,
                                         0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_shuffle_epi8(x, low), 0x08));
}

static inline __m128i ccml_narrow8_bytes(__m256i x)
{
    const __m256i low = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                         0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i packed = _mm256_shuffle_epi8(x, low);
    return _mm_unpacklo_epi32(_mm256_castsi256_si128(packed), _mm256_extracti128_si256(packed, 1));
}

CCML_NARROW_I32(i8, 8, __m128i, __m256i, _mm256_cvtepi8_epi32, ccml_narrow8_bytes)
CCML_NARROW_I32(u8, 8, __m128i, __m256i, _mm256_cvtepu8_epi32, ccml_narrow8_bytes)
CCML_NARROW_I32(i16, 8, __m128i, __m256i, _mm256_cvtepi16_epi32, ccml_narrow8_halves)
CCML_NARROW_I32(u16, 8, __m128i, __m256i, _mm256_cvtepu16_epi32, ccml_narrow8_halves)

static inline __m128i ccml_narrow8_packed(__m256i x)
{
    return _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}
#define CCML_SIGNED_8(x) _mm_packs_epi16(ccml_narrow8_packed(x), _mm_setzero_si128())
#define CCML_UNSIGNED_8(x) _mm_packus_epi16(ccml_narrow8_packed(x), _mm_setzero_si128())
CCML_NARROW_PACKED(i8, 8, __m256i, CCML_SIGNED_8)
CCML_NARROW_PACKED(u8, 8, __m256i, CCML_UNSIGNED_8)
#undef CCML_SIGNED_8
#undef CCML_UNSIGNED_8

CCML_NARROW_MIN_MAX(i8, 8, __m128i, _mm_min_epi8, _mm_max_epi8)
CCML_NARROW_MIN_MAX(u8, 8, __m128i, _mm_min_epu8, _mm_max_epu8)
CCML_NARROW_MIN_MAX(i16, 8, __m128i, _mm_min_epi16, _mm_max_epi16)
CCML_NARROW_MIN_MAX(u16, 8, __m128i, _mm_min_epu16, _mm_max_epu16)

CCML_NARROW_ACTIVE(i8, int8_t, 8, uint64)
CCML_NARROW_ACTIVE(u8, uint8_t, 8, uint64)
#if defined(__AVX512BW__) && defined(__AVX512VL__)
CCML_NARROW_MASKED(i16, int16_t, 8, __m128i, __mmask8, _mm_maskz_loadu_epi16, _mm_mask_storeu_epi16)
CCML_NARROW_MASKED(u16, uint16_t, 8, __m128i, __mmask8, _mm_maskz_loadu_epi16, _mm_mask_storeu_epi16)
#else
CCML_GNU_ACTIVE(i16, int16_t, 8)
CCML_GNU_ACTIVE(u16, uint16_t, 8)
#endif

CCML_NARROW_ALL(8)

#elif CCML_NEON

#define CCML_NARROW8_OF(vector, ...) ((vector){__VA_ARGS__})
CCML_NARROW_TYPE(i8, int8_t, 8, 8, 8)
CCML_NARROW_TYPE(u8, uint8_t, 8, 8, 8)
CCML_NARROW_TYPE(i16, int16_t, 8, 8, 16)
CCML_NARROW_TYPE(u16, uint16_t, 8, 8, 16)

CCML_NARROW_MOVE(i8, int8_t, 8, int8x8_t, vld1_s8, vst1_s8)
CCML_NARROW_MOVE(u8, uint8_t, 8, uint8x8_t, vld1_u8, vst1_u8)
CCML_NARROW_MOVE(i16, int16_t, 8, int16x8_t, vld1q_s16, vst1q_s16)
CCML_NARROW_MOVE(u16, uint16_t, 8, uint16x8_t, vld1q_u16, vst1q_u16)

/* Words are two registers. */
#define CCML_NEON_HALFWORDS(name, lower, upper) \
    static inline ccml_i32x8 ccml_##name##x8_to_i32(ccml_##name##x8 x) \
    { \
        const ccml_i32x8 result = {(ccml_i32x4)lower, (ccml_i32x4)upper}; \
        return result; \
    } \
    static inline ccml_##name##x8 ccml_i32x8_to_##name(ccml_i32x8 x) \
    { \
        return (ccml_##name##x8)vcombine_s16(vmovn_s32((int32x4_t)x.low), vmovn_s32((int32x4_t)x.high)); \
    }
CCML_NEON_HALFWORDS(i16, vmovl_s16(vget_low_s16((int16x8_t)x)), vmovl_s16(vget_high_s16((int16x8_t)x)))
CCML_NEON_HALFWORDS(u16, vmovl_u16(vget_low_u16((uint16x8_t)x)), vmovl_u16(vget_high_u16((uint16x8_t)x)))
#undef CCML_NEON_HALFWORDS

CCML_NEON_AMONG(8, , )
#define CCML_NEON_BYTES(name) \
    static inline ccml_i32x8 ccml_##name##x8_to_i32(ccml_##name##x8 x) \
    { \
        return ccml_i16x8_to_i32(ccml_##name##x8_to_i16(x)); \
    } \
    static inline ccml_##name##x8 ccml_i32x8_to_##name(ccml_i32x8 x) \
    { \
        return ccml_i16x8_to_##name(ccml_i32x8_to_i16(x)); \
    }
CCML_NEON_BYTES(i8)
CCML_NEON_BYTES(u8)
#undef CCML_NEON_BYTES

CCML_NARROW_MIN_MAX(i8, 8, int8x8_t, vmin_s8, vmax_s8)
CCML_NARROW_MIN_MAX(u8, 8, uint8x8_t, vmin_u8, vmax_u8)
CCML_NARROW_MIN_MAX(i16, 8, int16x8_t, vminq_s16, vmaxq_s16)
CCML_NARROW_MIN_MAX(u16, 8, uint16x8_t, vminq_u16, vmaxq_u16)

CCML_NARROW_ACTIVE(i8, int8_t, 8, uint64)
CCML_NARROW_ACTIVE(u8, uint8_t, 8, uint64)
CCML_GNU_ACTIVE(i16, int16_t, 8)
CCML_GNU_ACTIVE(u16, uint16_t, 8)

CCML_NARROW_ALL(8)

#else
CCML_PORTABLE_NARROWS(8)
#define CCML_NARROW8_OF(vector, ...) ((vector){{__VA_ARGS__}})
#endif
#if !(CCML_X86 && defined(__AVX2__))
CCML_NARROW_SATURATED(8)
#endif
CCML_NARROW_CONVERSIONS(8)
#if !CCML_NEON
CCML_NARROW_AMONG(8)
#endif

#endif
