/* Part of the ccml runtime: accumulators times scales in integers, with the bits of the float32 definition.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_SCALE_H
#define CCML_SCALE_H

#include "ccml_base.h"

#if CCML_GNU
#define CCML_OUT_OF_LINE static __attribute__((noinline, unused))
#else
#define CCML_OUT_OF_LINE static
#endif

/* Armv6-M has no multiplication of 32 by 32 to 64 bits. */
#if defined(__ARM_ARCH_6M__) || defined(CCML_SHORT_PRODUCTS)
/* Four products of halfwords (Warren, "Hacker's Delight", 8-2). */
static inline int32_t ccml_i32_mul_high(int32_t x, int32_t y)
{
    const uint32_t x_low = (uint32_t)x & 65535u;
    const uint32_t y_low = (uint32_t)y & 65535u;
    const int32_t x_high = x >> 16;
    const int32_t y_high = y >> 16;
    const int32_t first = x_high * (int32_t)y_low + (int32_t)(x_low * y_low >> 16);
    const int32_t second = (int32_t)x_low * y_high + (first & 65535);
    return x_high * y_high + (first >> 16) + (second >> 16);
}

/* The product of two numbers of at most 25 bits. */
static inline uint32_t ccml_u32_product(uint32_t x, uint32_t y, uint32_t *high)
{
    const uint32_t low = (x & 65535u) * (y & 65535u);
    const uint32_t middle = (x & 65535u) * (y >> 16) + (x >> 16) * (y & 65535u);
    const uint32_t sum = low + (middle << 16);
    *high = (x >> 16) * (y >> 16) + (middle >> 16) + (sum < low);
    return sum;
}
#else
static inline int32_t ccml_i32_mul_high(int32_t x, int32_t y)
{
    return (int32_t)((int64_t)x * y >> 32);
}

static inline uint32_t ccml_u32_product(uint32_t x, uint32_t y, uint32_t *high)
{
    const uint64_t product = (uint64_t)x * y;
    *high = (uint32_t)(product >> 32);
    return (uint32_t)product;
}
#endif

/* The upper word of x * y, and z. */
static inline int32_t ccml_i32_mul_high_add(int32_t x, int32_t y, int32_t z)
{
#if CCML_GNU && defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
    int32_t sum;
    __asm__("smmla %0, %1, %2, %3" : "=r"(sum) : "r"(x), "r"(y), "r"(z));
    return sum;
#else
    return (int32_t)((uint32_t)ccml_i32_mul_high(x, y) + (uint32_t)z);
#endif
}

/* The position of the highest bit, from 1 on; 0 for 0. */
static inline int32_t ccml_u32_bits(uint32_t x)
{
#if CCML_GNU && defined(__ARM_FEATURE_CLZ)
    return x == 0 ? 0 : 32 - __builtin_clz(x);
#else
    int32_t bits = 0;
    for (int32_t step = 16; step != 0; step >>= 1) {
        if (x >> step != 0) {
            bits += step;
            x >>= step;
        }
    }
    return bits + (x != 0);
#endif
}

static inline int32_t ccml_i32_leading_zeros(int32_t x)
{
    return 32 - ccml_u32_bits((uint32_t)x);
}

/* quotient, or the next number if `rest` / 2^shift is more than a half, or a half and the quotient odd. */
static inline uint32_t ccml_u32_to_even(uint32_t quotient, uint32_t rest, int32_t shift)
{
    const uint32_t aligned = rest << (32 - shift);
    return quotient + (aligned > 0x80000000u || (aligned == 0x80000000u && (quotient & 1) != 0));
}

/* round(float32(acc) * (mantissa * 2^exponent)) as binary32 has it, saturated: rounded to nearest even three times, the
   accumulator and the product to 24 bits and that to a whole number. The mantissa has at most 24 bits. */
CCML_OUT_OF_LINE int32_t ccml_i32_scale_float(int32_t acc, int32_t mantissa, int32_t exponent)
{
    uint32_t value = acc < 0 ? 0u - (uint32_t)acc : (uint32_t)acc;
    const uint32_t limit = acc < 0 ? 0x80000000u : 0x7fffffffu;
    uint32_t high;
    if (acc == 0) {
        return 0;
    }
    int32_t shift = value >> 24 == 0 ? 0 : ccml_u32_bits(value) - 24;
    if (shift > 0) {
        value = ccml_u32_to_even(value >> shift, value, shift);
        exponent += shift;
    }
    value = ccml_u32_product(value, (uint32_t)mantissa, &high);
    shift = -8 - exponent;
    if (shift > 0 && shift < 32 && high >> shift == 0) {
        /* A product of at most 24 bits with eight of them behind the point: the second rounding cuts below these, so that
           they tell the third one, unless they are those beside a half. */
        const uint32_t fixed = high << (32 - shift) | value >> shift;
        if (fixed >> 24 == 0 && ((fixed + 1) & 254u) != 128) {
            value = (fixed + 128) >> 8;
            return (int32_t)(acc < 0 ? 0u - value : value);
        }
    }
    shift = high == 0 ? ccml_u32_bits(value) - 24 : ccml_u32_bits(high) + 8;
    if (shift > 0) {
        value = ccml_u32_to_even(high << (32 - shift) | value >> shift, value, shift);
        exponent += shift;
    }
    if (exponent < -25 || value == 0) {
        return 0;
    }
    if (exponent < 0) {
        value = ccml_u32_to_even(value >> -exponent, value, -exponent);
    } else {
        value = exponent > 31 || value > limit >> exponent ? limit : value << exponent;
    }
    return (int32_t)(acc < 0 ? 0u - value : value);
}

/* acc * factor / 2^(32 + shift), halves up, where shift > 0; else the float32 product with factor * 2^shift. */
static inline int32_t ccml_i32_scale_round(int32_t acc, int32_t factor, int32_t shift)
{
    if (shift > 0) {
        return (ccml_i32_mul_high(acc, factor) + (int32_t)(1u << (shift - 1))) >> shift;
    }
    return ccml_i32_scale_float(acc, factor, shift);
}

#endif
