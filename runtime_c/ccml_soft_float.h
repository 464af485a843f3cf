/* Part of the ccml runtime: square root, rounding and fused multiply-add by integer arithmetic, correctly rounded to
   nearest even, for machines without such instructions.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_SOFT_FLOAT_H
#define CCML_SOFT_FLOAT_H

#include "ccml_bits.h"

/* For a binary format of `mant` stored significand bits, kept in the unsigned type `bits_t`. */
#define CCML_SOFT_ROUNDING(name, type, bits_name, bits_t, mant, bias) \
    /* Toward zero: the bits below the units are cleared. Infinities, NaN and large numbers are integers. */ \
    static inline type ccml_soft_##name##_trunc(type x) \
    { \
        const bits_t bits = ccml_##name##_as_##bits_name(x); \
        const int exponent = (int)((bits >> (mant)) & (2 * (bias) + 1)) - (bias); \
        const bits_t magnitude = (bits_t)-1 >> 1; \
        if (exponent >= (mant)) { \
            return x; \
        } \
        if (exponent < 0) { \
            return ccml_##bits_name##_as_##name(bits & ~magnitude); \
        } \
        return ccml_##bits_name##_as_##name(bits & ~((((bits_t)1 << (mant)) - 1) >> exponent)); \
    } \
    static inline type ccml_soft_##name##_floor(type x) \
    { \
        const type whole = ccml_soft_##name##_trunc(x); \
        return whole > x ? whole - 1 : whole; \
    } \
    static inline type ccml_soft_##name##_ceil(type x) \
    { \
        const type whole = ccml_soft_##name##_trunc(x); \
        return whole < x ? whole + 1 : whole; \
    } \
    /* To nearest even: adding just under half (half, after an odd unit) carries into the units where it must. */ \
    static inline type ccml_soft_##name##_round_even(type x) \
    { \
        const bits_t bits = ccml_##name##_as_##bits_name(x); \
        const int exponent = (int)((bits >> (mant)) & (2 * (bias) + 1)) - (bias); \
        const bits_t magnitude = bits & ((bits_t)-1 >> 1); \
        const bits_t half = (bits_t)((bias)-1) << (mant); \
        const bits_t one = (bits_t)(bias) << (mant); \
        bits_t unit; \
        if (exponent >= (mant)) { \
            return x; \
        } \
        if (exponent < 0) { \
            return ccml_##bits_name##_as_##name((bits ^ magnitude) | (magnitude > half ? one : 0)); \
        } \
        unit = (bits_t)1 << ((mant)-exponent); \
        return ccml_##bits_name##_as_##name((bits + (unit >> 1) - ((bits & unit) == 0)) & ~(unit - 1)); \
    }

/* The schoolbook method, one binary digit of the root a step; the remainder decides the rounding. A tie cannot be:
   its square would need more digits than a number has. */
#define CCML_SOFT_SQRT(name, type, bits_name, bits_t, mant, bias) \
    static inline type ccml_soft_##name##_sqrt(type x) \
    { \
        const bits_t bits = ccml_##name##_as_##bits_name(x); \
        bits_t rest = bits & (((bits_t)1 << (mant)) - 1); \
        bits_t digit = (bits_t)1 << ((mant) + 1); \
        bits_t root = 0; \
        bits_t twice_root = 0; \
        int exponent = (int)((bits >> (mant)) & (2 * (bias) + 1)); \
        if (!(x > 0) || exponent == 2 * (bias) + 1) { \
            return x < 0 ? (type)CCML_NAN : x; \
        } \
        if (exponent != 0) { \
            rest |= (bits_t)1 << (mant); \
        } else { \
            for (exponent = 1; rest >> (mant) == 0; --exponent) { \
                rest <<= 1; \
            } \
        } \
        exponent -= (bias); \
        if (exponent % 2 != 0) { \
            rest <<= 1; \
            --exponent; \
        } \
        for (rest <<= 1; digit != 0; digit >>= 1) { \
            const bits_t trial = twice_root + digit; \
            if (trial <= rest) { \
                twice_root = trial + digit; \
                rest -= trial; \
                root += digit; \
            } \
            rest <<= 1; \
        } \
        root = (root >> 1) + (rest != 0 ? root & 1 : 0); \
        return ccml_##bits_name##_as_##name(root + ((bits_t)(exponent / 2 + (bias)-1) << (mant))); \
    }

CCML_SOFT_ROUNDING(f32, float, u32, uint32_t, 23, 127)
CCML_SOFT_ROUNDING(f64, double, u64, uint64_t, 52, 1023)
CCML_SOFT_SQRT(f32, float, u32, uint32_t, 23, 127)
CCML_SOFT_SQRT(f64, double, u64, uint64_t, 52, 1023)

#undef CCML_SOFT_ROUNDING
#undef CCML_SOFT_SQRT

/* x + y rounded to odd: where the sum is inexact, its last bit is set. Rounding that to a format of at most 51
   significand bits gives what rounding the exact sum once would (Boldo and Melquiond, "Emulation of FMA and correctly
   rounded sums", IEEE Trans. Computers 57, 2008). */
static inline double ccml_soft_add_to_odd(double x, double y)
{
    const double sum = x + y;
    const double y_part = sum - x;
    const double error = (x - (sum - y_part)) + (y - y_part);
    uint64_t bits = ccml_f64_as_u64(sum);

    if ((bits >> 52 & 2047) != 2047 && error != 0 && (bits & 1) == 0) {
        bits += (error > 0) == (sum > 0) ? (uint64_t)1 : (uint64_t)-1;
    }
    return ccml_u64_as_f64(bits);
}

/* The product of two float is exact in double. */
static inline float ccml_soft_f32_fma(float x, float y, float z)
{
    return (float)ccml_soft_add_to_odd((double)x * (double)y, (double)z);
}

/* An unsigned number of 128 bits, handed on by address: at -O0 copies are calls of memcpy on some machines. */
typedef struct {
    uint64_t high;
    uint64_t low;
} ccml_u128;

static inline void ccml_u128_multiply(ccml_u128 *product, uint64_t x, uint64_t y)
{
    const uint64_t mask = 0xffffffffu;
    const uint64_t low = (x & mask) * (y & mask);
    const uint64_t middle = (x >> 32) * (y & mask) + (low >> 32);
    const uint64_t middle2 = (x & mask) * (y >> 32) + (middle & mask);

    product->high = (x >> 32) * (y >> 32) + (middle >> 32) + (middle2 >> 32);
    product->low = (middle2 << 32) | (low & mask);
}

/* Shifts x left until bit 126 is its highest and takes the shifts from *exponent. x is not 0 and below 2^127. */
static inline void ccml_u128_normalize(ccml_u128 *x, int *exponent)
{
    while (x->high >> 62 == 0) {
        x->high = (x->high << 1) | (x->low >> 63);
        x->low <<= 1;
        --*exponent;
    }
}

/* Divides x by 2^count; where bits are lost, the last bit is set. */
static inline void ccml_u128_shift_right(ccml_u128 *x, int count)
{
    for (; count > 0 && (x->high != 0 || x->low > 1); --count) {
        x->low = (x->low >> 1) | (x->high << 63) | (x->low & 1);
        x->high >>= 1;
    }
}

static inline int ccml_u128_less(const ccml_u128 *x, const ccml_u128 *y)
{
    return x->high < y->high || (x->high == y->high && x->low < y->low);
}

/* The larger of two magnitudes becomes their sum, or their difference, with its exponent; the smaller one is used up.
   Both have bit 126 as the highest; so has the result, unless the difference is 0. */
static inline void ccml_u128_combine(ccml_u128 *large, int *exponent, ccml_u128 *small, int small_exponent,
                                     int subtract)
{
    ccml_u128_shift_right(small, *exponent - small_exponent);
    if (subtract) {
        large->high -= small->high + (large->low < small->low);
        large->low -= small->low;
        if ((large->high | large->low) != 0) {
            ccml_u128_normalize(large, exponent);
        }
        return;
    }
    large->low += small->low;
    large->high += small->high + (large->low < small->low);
    if (large->high >> 63 != 0) {
        ++*exponent;
        ccml_u128_shift_right(large, 1);
    }
}

/* The significand of a finite double as an integer, with *exponent such that |x| = significand * 2^exponent. */
static inline uint64_t ccml_soft_f64_split(double x, int *exponent)
{
    const uint64_t bits = ccml_f64_as_u64(x);
    const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const int field = (int)(bits >> 52 & 2047);

    *exponent = (field == 0 ? 1 : field) - 1075;
    return field == 0 ? fraction : fraction | (uint64_t)1 << 52;
}

/* The bits of significand * 2^exponent rounded to nearest even; bit 126 is the significand's highest. */
static inline uint64_t ccml_soft_f64_round(ccml_u128 *significand, int exponent)
{
    const int field = exponent + 126 + 1023;
    uint64_t bits;

    if (field >= 2047) {
        return (uint64_t)2047 << 52;
    }
    ccml_u128_shift_right(significand, field > 0 ? 72 : 73 - field);
    bits = (significand->low >> 2) + (field > 0 ? (uint64_t)(field - 1) << 52 : 0);
    return bits + ((significand->low & 3) + (bits & 1) > 2);
}

/* Exact product, exact sum (but for a last bit that says "and a little more"), one rounding. */
static inline double ccml_soft_f64_fma(double x, double y, double z)
{
    const uint64_t sign_bit = (uint64_t)1 << 63;
    const uint64_t product_sign = (ccml_f64_as_u64(x) ^ ccml_f64_as_u64(y)) & sign_bit;
    const uint64_t addend_sign = ccml_f64_as_u64(z) & sign_bit;
    const int subtract = product_sign != addend_sign;
    ccml_u128 product;
    ccml_u128 addend;
    uint64_t bits;
    int product_exponent;
    int addend_exponent;
    int exponent;

    if (x == 0 || y == 0 || x - x != 0 || y - y != 0) {
        return x * y + z;
    }
    if (z == 0) {
        return x * y;
    }
    if (z - z != 0) {
        return z;
    }
    ccml_u128_multiply(&product, ccml_soft_f64_split(x, &product_exponent), ccml_soft_f64_split(y, &exponent));
    product_exponent += exponent;
    ccml_u128_normalize(&product, &product_exponent);
    addend.high = ccml_soft_f64_split(z, &addend_exponent);
    addend.low = 0;
    addend_exponent -= 64;
    ccml_u128_normalize(&addend, &addend_exponent);

    if (addend_exponent > product_exponent ||
        (addend_exponent == product_exponent && ccml_u128_less(&product, &addend))) {
        ccml_u128_combine(&addend, &addend_exponent, &product, product_exponent, subtract);
        bits = ccml_soft_f64_round(&addend, addend_exponent) | addend_sign;
    } else {
        ccml_u128_combine(&product, &product_exponent, &addend, addend_exponent, subtract);
        if ((product.high | product.low) == 0) {
            return 0.0;
        }
        bits = ccml_soft_f64_round(&product, product_exponent) | product_sign;
    }
    return ccml_u64_as_f64(bits);
}

#endif
