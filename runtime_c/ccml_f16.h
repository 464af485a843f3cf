/* Part of the ccml runtime: IEEE binary16, kept as its bits in uint16_t. Arithmetic is done in float and rounded once
   more, which is exact for + - * / and sqrt (24 >= 2 * 11 + 2 significand bits).
   May be used freely in any product, with or without this notice. */
#ifndef CCML_F16_H
#define CCML_F16_H

#include "ccml_float.h"

static inline float ccml_f16_to_f32(uint16_t x)
{
    const uint32_t sign = (uint32_t)(x & 0x8000u) << 16;
    const uint32_t magnitude = x & 0x7fffu;
    const float denormal_unit = 1.0f / 16777216.0f;

    if (magnitude >= 0x7c00u) {
        return ccml_u32_as_f32(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    }
    if (magnitude < 0x400u) {
        return ccml_u32_as_f32(sign | ccml_f32_as_u32((float)magnitude * denormal_unit));
    }
    return ccml_u32_as_f32(sign | ((magnitude << 13) + (112u << 23)));
}

/* Rounds to nearest even; NaN stays NaN. */
static inline uint16_t ccml_f32_to_f16(float x)
{
    const uint32_t bits = ccml_f32_as_u32(x);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t exponent = magnitude >> 23;
    uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    uint32_t shift;
    uint32_t half;

    if (magnitude > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u);
    }
    if (magnitude >= 0x47800000u) {
        return (uint16_t)(sign | 0x7c00u);
    }
    if (exponent < 102u) {
        return (uint16_t)sign;
    }
    shift = exponent < 113u ? 126u - exponent : 13u;
    half = ((uint32_t)1 << (shift - 1u)) - 1u + (significand >> shift & 1u);
    significand = (significand + half) >> shift;
    return (uint16_t)(sign | (significand + (exponent < 113u ? 0u : (exponent - 113u) << 10)));
}

/* x rounded to float so that rounding once more gives what rounding x once would: to odd. */
static inline float ccml_f64_to_f32_odd(double x)
{
    const float nearest = (float)x;
    const double back = (double)nearest;
    uint32_t bits = ccml_f32_as_u32(nearest);

    if (back != x && x - x == 0 && (bits & 1u) == 0) {
        bits += (back < x) == (x > 0) ? (uint32_t)1 : (uint32_t)-1;
    }
    return ccml_u32_as_f32(bits);
}

static inline uint16_t ccml_f64_to_f16(double x)
{
    return ccml_f32_to_f16(ccml_f64_to_f32_odd(x));
}

static inline double ccml_f16_to_f64(uint16_t x)
{
    return (double)ccml_f16_to_f32(x);
}

/* From every number but float, which goes by ccml_f32_to_f16; 64-bit integers beyond 2^53 are infinite either way. */
#define CCML_TO_F16(x) ccml_f64_to_f16((double)(x))
#define CCML_F16_TO_BOOL(x) (uint8_t)(((x) & 0x7fffu) != 0)

static inline uint16_t ccml_f16_abs(uint16_t x)
{
    return (uint16_t)(x & 0x7fffu);
}

static inline uint16_t ccml_f16_neg(uint16_t x)
{
    return (uint16_t)(x ^ 0x8000u);
}

static inline uint16_t ccml_f16_fma(uint16_t x, uint16_t y, uint16_t z)
{
    const double product = ccml_f16_to_f64(x) * ccml_f16_to_f64(y);

    return ccml_f64_to_f16(ccml_soft_add_to_odd(product, ccml_f16_to_f64(z)));
}

#define CCML_F16_ARITHMETIC(name, operator) \
    static inline uint16_t ccml_f16_##name(uint16_t x, uint16_t y) \
    { \
        return ccml_f32_to_f16(ccml_f16_to_f32(x) operator ccml_f16_to_f32(y)); \
    }

CCML_F16_ARITHMETIC(add, +)
CCML_F16_ARITHMETIC(sub, -)
CCML_F16_ARITHMETIC(mul, *)
CCML_F16_ARITHMETIC(div, /)

#undef CCML_F16_ARITHMETIC

#define CCML_F16_MIN_MAX(name, operator) \
    static inline uint16_t ccml_f16_##name(uint16_t x, uint16_t y) \
    { \
        return ccml_f16_to_f32(x) operator ccml_f16_to_f32(y) ? x : y; \
    }

CCML_F16_MIN_MAX(min, <)
CCML_F16_MIN_MAX(max, >)

#undef CCML_F16_MIN_MAX

#define CCML_F16_FUNCTION(name) \
    static inline uint16_t ccml_f16_##name(uint16_t x) \
    { \
        return ccml_f32_to_f16(ccml_f32_##name(ccml_f16_to_f32(x))); \
    }

CCML_F16_FUNCTION(sqrt)
CCML_F16_FUNCTION(floor)
CCML_F16_FUNCTION(ceil)
CCML_F16_FUNCTION(trunc)
CCML_F16_FUNCTION(round_even)

#undef CCML_F16_FUNCTION

#endif
