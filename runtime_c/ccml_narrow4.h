/* Part of the ccml runtime: i8, u8, i16 and u16 vectors of four lanes, by SSE4.1, NEON or Helium where the machine has
   them.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_NARROW4_H
#define CCML_NARROW4_H

#include "ccml_narrow.h"
#include "ccml_x4.h"

#if CCML_X86 && defined(__SSE4_1__)

#define CCML_NARROW4_OF(vector, ...) ((vector){__VA_ARGS__})
CCML_NARROW_TYPE(i8, int8_t, 4, 16, 16)
CCML_NARROW_TYPE(u8, uint8_t, 4, 16, 16)
CCML_NARROW_TYPE(i16, int16_t, 4, 8, 16)
CCML_NARROW_TYPE(u16, uint16_t, 4, 8, 16)

static inline __m128i ccml_narrow4_load(const void *from)
{
    int32_t word;
    __builtin_memcpy(&word, from, 4);
    return _mm_cvtsi32_si128(word);
}

static inline void ccml_narrow4_store(void *to, __m128i x)
{
    const int32_t word = _mm_cvtsi128_si32(x);
    __builtin_memcpy(to, &word, 4);
}

CCML_NARROW_MOVE(i8, int8_t, 4, __m128i, ccml_narrow4_load, ccml_narrow4_store)
CCML_NARROW_MOVE(u8, uint8_t, 4, __m128i, ccml_narrow4_load, ccml_narrow4_store)
CCML_NARROW_MOVE(i16, int16_t, 4, __m128i, _mm_loadl_epi64, _mm_storel_epi64)
CCML_NARROW_MOVE(u16, uint16_t, 4, __m128i, _mm_loadl_epi64, _mm_storel_epi64)

#define CCML_BYTES_4(x) _mm_shuffle_epi8(x, _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1))
#define CCML_HALVES_4(x) _mm_shuffle_epi8(x, _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1))
CCML_NARROW_I32(i8, 4, __m128i, __m128i, _mm_cvtepi8_epi32, CCML_BYTES_4)
CCML_NARROW_I32(u8, 4, __m128i, __m128i, _mm_cvtepu8_epi32, CCML_BYTES_4)
CCML_NARROW_I32(i16, 4, __m128i, __m128i, _mm_cvtepi16_epi32, CCML_HALVES_4)
CCML_NARROW_I32(u16, 4, __m128i, __m128i, _mm_cvtepu16_epi32, CCML_HALVES_4)
#undef CCML_BYTES_4
#undef CCML_HALVES_4

#define CCML_SIGNED_4(x) _mm_packs_epi16(_mm_packs_epi32(x, x), _mm_setzero_si128())
#define CCML_UNSIGNED_4(x) _mm_packus_epi16(_mm_packs_epi32(x, x), _mm_setzero_si128())
CCML_NARROW_PACKED(i8, 4, __m128i, CCML_SIGNED_4)
CCML_NARROW_PACKED(u8, 4, __m128i, CCML_UNSIGNED_4)
#undef CCML_SIGNED_4
#undef CCML_UNSIGNED_4

CCML_NARROW_MIN_MAX(i8, 4, __m128i, _mm_min_epi8, _mm_max_epi8)
CCML_NARROW_MIN_MAX(u8, 4, __m128i, _mm_min_epu8, _mm_max_epu8)
CCML_NARROW_MIN_MAX(i16, 4, __m128i, _mm_min_epi16, _mm_max_epi16)
CCML_NARROW_MIN_MAX(u16, 4, __m128i, _mm_min_epu16, _mm_max_epu16)

#elif CCML_NEON

#define CCML_NARROW4_OF(vector, ...) ((vector){__VA_ARGS__})
CCML_NARROW_TYPE(i8, int8_t, 4, 8, 8)
CCML_NARROW_TYPE(u8, uint8_t, 4, 8, 8)
CCML_NARROW_TYPE(i16, int16_t, 4, 4, 8)
CCML_NARROW_TYPE(u16, uint16_t, 4, 4, 8)

static inline uint32x2_t ccml_narrow4_load(const void *from)
{
    uint32_t word;
    __builtin_memcpy(&word, from, 4);
    return vdup_n_u32(word);
}

static inline void ccml_narrow4_store(void *to, uint32x2_t x)
{
    const uint32_t word = vget_lane_u32(x, 0);
    __builtin_memcpy(to, &word, 4);
}

CCML_NARROW_MOVE(i8, int8_t, 4, uint32x2_t, ccml_narrow4_load, ccml_narrow4_store)
CCML_NARROW_MOVE(u8, uint8_t, 4, uint32x2_t, ccml_narrow4_load, ccml_narrow4_store)
CCML_NARROW_MOVE(i16, int16_t, 4, int16x4_t, vld1_s16, vst1_s16)
CCML_NARROW_MOVE(u16, uint16_t, 4, uint16x4_t, vld1_u16, vst1_u16)

#define CCML_WIDEN_BYTES(x) vmovl_s16(vget_low_s16(vmovl_s8(x)))
#define CCML_WIDEN_UNSIGNED(x) vmovl_u16(vget_low_u16(vmovl_u8(x)))
#define CCML_BYTES_4(x) vmovn_s16(vcombine_s16(vmovn_s32(x), vmovn_s32(x)))
CCML_NARROW_I32(i8, 4, int8x8_t, int32x4_t, CCML_WIDEN_BYTES, CCML_BYTES_4)
CCML_NARROW_I32(u8, 4, uint8x8_t, int32x4_t, CCML_WIDEN_UNSIGNED, CCML_BYTES_4)
CCML_NARROW_I32(i16, 4, int16x4_t, int32x4_t, vmovl_s16, vmovn_s32)
CCML_NARROW_I32(u16, 4, uint16x4_t, int32x4_t, vmovl_u16, vmovn_s32)
#undef CCML_WIDEN_BYTES
#undef CCML_WIDEN_UNSIGNED
#undef CCML_BYTES_4

CCML_NARROW_MIN_MAX(i8, 4, int8x8_t, vmin_s8, vmax_s8)
CCML_NARROW_MIN_MAX(u8, 4, uint8x8_t, vmin_u8, vmax_u8)
CCML_NARROW_MIN_MAX(i16, 4, int16x4_t, vmin_s16, vmax_s16)
CCML_NARROW_MIN_MAX(u16, 4, uint16x4_t, vmin_u16, vmax_u16)
#define CCML_TWICE(x) vcombine_s16(x, x)
CCML_NEON_AMONG(4, vget_low_s16, CCML_TWICE)
#undef CCML_TWICE

#elif CCML_MVE

CCML_MVE_NARROW(i8, int8_t, i32, int32_t, "vldrb", "vstrb", ".s32", "vmovlb.s8 %q0, %q0\n\tvmovlb.s16 %q0, %q0")
CCML_MVE_NARROW(u8, uint8_t, u32, uint32_t, "vldrb", "vstrb", ".u32", "vmovlb.u8 %q0, %q0\n\tvmovlb.u16 %q0, %q0")
CCML_MVE_NARROW(i16, int16_t, i32, int32_t, "vldrh", "vstrh", ".s32", "vmovlb.s16 %q0, %q0")
CCML_MVE_NARROW(u16, uint16_t, u32, uint32_t, "vldrh", "vstrh", ".u32", "vmovlb.u16 %q0, %q0")

#endif

#if (CCML_X86 && defined(__SSE4_1__)) || CCML_NEON
CCML_NARROW_ACTIVE(i8, int8_t, 4, uint32)
CCML_NARROW_ACTIVE(u8, uint8_t, 4, uint32)
CCML_NARROW_ACTIVE(i16, int16_t, 4, uint64)
CCML_NARROW_ACTIVE(u16, uint16_t, 4, uint64)
CCML_NARROW_ALL(4)
#elif CCML_MVE
CCML_NARROW_WORDS(4)
#else
CCML_PORTABLE_NARROWS(4)
#define CCML_NARROW4_OF(vector, ...) ((vector){{__VA_ARGS__}})
#endif
#if CCML_MVE
CCML_MVE_SATURATED(i8, -128, 127)
CCML_MVE_SATURATED(u8, 0, 255)
#elif !(CCML_X86 && defined(__SSE4_1__))
CCML_NARROW_SATURATED(4)
#endif

/* The low bits of words. */
#if CCML_MVE
#define CCML_LOW_BITS(name, x) ((ccml_##name##x4)(x))
#else
#define CCML_LOW_BITS(name, x) ccml_i32x4_to_##name(x)
#endif
#define CCML_STORE_LOW_BITS(name, type) \
    static inline void ccml_i32x4_store_##name(type *to, ccml_i32x4 x) \
    { \
        ccml_##name##x4_store(to, CCML_LOW_BITS(name, x)); \
    } \
    static inline void ccml_i32x4_store_##name##_active(type *to, ccml_i32x4 x, ptrdiff_t active) \
    { \
        ccml_##name##x4_store_active(to, CCML_LOW_BITS(name, x), active); \
    }
CCML_STORE_LOW_BITS(i8, int8_t)
CCML_STORE_LOW_BITS(u8, uint8_t)
CCML_STORE_LOW_BITS(i16, int16_t)
CCML_STORE_LOW_BITS(u16, uint16_t)
#undef CCML_LOW_BITS
#undef CCML_STORE_LOW_BITS
CCML_NARROW_CONVERSIONS(4)
#if !CCML_NEON
CCML_NARROW_AMONG(4)
#endif

#endif
