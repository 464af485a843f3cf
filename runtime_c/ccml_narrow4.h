/* Part of the ccml runtime: i8, u8, i16 and u16 vectors of four lanes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_NARROW4_H
#define CCML_NARROW4_H

#include "ccml_narrow.h"
#include "ccml_x4.h"

#if defined(__SSE4_1__) && CCML_X86

CCML_GNU_NARROWS(4, 4, 8)
CCML_GNU_WIDEN(i8, 4, _mm_cvtepi8_epi32(_mm_cvtsi32_si128((int)x)))
CCML_GNU_WIDEN(u8, 4, _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)x)))
CCML_GNU_WIDEN(i16, 4, _mm_cvtepi16_epi32(_mm_set_epi64x(0, (long long)x)))
CCML_GNU_WIDEN(u16, 4, _mm_cvtepu16_epi32(_mm_set_epi64x(0, (long long)x)))

static inline int32_t ccml_x4_low_bytes(ccml_i32x4 x)
{
    const __m128i low = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    return _mm_cvtsi128_si32(_mm_shuffle_epi8((__m128i)x, low));
}

static inline long long ccml_x4_low_halves(ccml_i32x4 x)
{
    const __m128i low = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    return _mm_shuffle_epi8((__m128i)x, low)[0];
}

#elif CCML_NEON

CCML_GNU_NARROWS(4, 4, 8)
CCML_GNU_WIDEN(i8, 4, vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8((uint64_t)(uint32_t)x)))))
CCML_GNU_WIDEN(u8, 4, vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8((uint64_t)(uint32_t)x)))))
CCML_GNU_WIDEN(i16, 4, vmovl_s16((int16x4_t)x))
CCML_GNU_WIDEN(u16, 4, vmovl_u16((uint16x4_t)x))

static inline int16x4_t ccml_x4_low_halves(ccml_i32x4 x)
{
    return vmovn_s32((int32x4_t)x);
}

static inline uint32_t ccml_x4_low_bytes(ccml_i32x4 x)
{
    const int16x4_t halves = ccml_x4_low_halves(x);
    return vget_lane_u32(vreinterpret_u32_s8(vmovn_s16(vcombine_s16(halves, halves))), 0);
}

#else
CCML_PORTABLE_NARROWS(4)
#endif

#if (defined(__SSE4_1__) && CCML_X86) || CCML_NEON
CCML_GNU_TRUNCATE(i8, 4, ccml_x4_low_bytes)
CCML_GNU_TRUNCATE(u8, 4, ccml_x4_low_bytes)
CCML_GNU_TRUNCATE(i16, 4, ccml_x4_low_halves)
CCML_GNU_TRUNCATE(u16, 4, ccml_x4_low_halves)
#endif

CCML_NARROW_CONVERSIONS(4)

#endif
