/* Part of the ccml runtime: what vectors of 8 and 16-bit integers of any number of lanes have in common. They live in
   memory; computing goes through 32 bits, so what differs from machine to machine are the conversions to and from i32.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_NARROW_H
#define CCML_NARROW_H

#include "ccml_gnu_vector.h"

/* A comparison, whose mask is as wide as the lanes, as the mask of 32-bit lanes. */
#define CCML_GNU_NARROW_COMPARE(vector, lanes, mask, op, expr) \
    static inline mask vector##_##op(vector x, vector y) \
    { \
        const vector narrow = (vector)(expr); \
        uint8_t result[lanes]; \
        for (int i = 0; i < (lanes); ++i) { \
            result[i] = (uint8_t)(narrow[i] & 1); \
        } \
        return mask##_load(result); \
    }

#define CCML_GNU_NARROW_SELECT(vector, lanes, mask) \
    static inline vector vector##_select(mask condition, vector x, vector y) \
    { \
        uint8_t chosen[lanes]; \
        mask##_store(chosen, condition); \
        for (int i = 0; i < (lanes); ++i) { \
            x[i] = chosen[i] ? x[i] : y[i]; \
        } \
        return x; \
    }

/* A vector of GNU C of any width; `wide` is the unsigned type of the same width, in which it wraps around. */
#define CCML_GNU_NARROW(name, type, wide, lanes, bytes) \
    CCML_GNU_NARROW_OF(ccml_##name##x##lanes, type, wide, lanes, bytes, ccml_boolx##lanes)
#define CCML_GNU_NARROW_OF(vector, type, wide, lanes, bytes, mask) \
    typedef wide vector##_wide __attribute__((vector_size(bytes))); \
    CCML_GNU_MOVE_OF(vector, type, lanes, bytes) \
    CCML_GNU_ACTIVE_OF(vector, type, lanes) \
    CCML_GNU_INTEGER(vector, vector##_wide) \
    CCML_GNU1(vector, abs, ((vector##_wide)x ^ (vector##_wide)(x < (vector){0})) - (vector##_wide)(x < (vector){0})) \
    CCML_GNU2(vector, min, ((vector)(x < y) & x) | (~(vector)(x < y) & y)) \
    CCML_GNU2(vector, max, ((vector)(x > y) & x) | (~(vector)(x > y) & y)) \
    CCML_GNU_NARROW_COMPARE(vector, lanes, mask, eq, x == y) \
    CCML_GNU_NARROW_COMPARE(vector, lanes, mask, ne, x != y) \
    CCML_GNU_NARROW_COMPARE(vector, lanes, mask, lt, x < y) \
    CCML_GNU_NARROW_COMPARE(vector, lanes, mask, le, x <= y) \
    CCML_GNU_NARROW_COMPARE(vector, lanes, mask, gt, x > y) \
    CCML_GNU_NARROW_COMPARE(vector, lanes, mask, ge, x >= y) \
    CCML_GNU_NARROW_SELECT(vector, lanes, mask) \
    CCML_LANES_REDUCE(vector, type, lanes, add, (uint32_t)x + (uint32_t)y) \
    CCML_LANES_REDUCE(vector, type, lanes, mul, (uint32_t)x * (uint32_t)y) \
    CCML_LANES_REDUCE(vector, type, lanes, min, x < y ? x : y) \
    CCML_LANES_REDUCE(vector, type, lanes, max, x > y ? x : y)

/* The vectors of GNU C of all four types. */
#define CCML_GNU_NARROWS(lanes, bytes8, bytes16) \
    CCML_GNU_NARROW(i8, int8_t, uint8_t, lanes, bytes8) \
    CCML_GNU_NARROW(u8, uint8_t, uint8_t, lanes, bytes8) \
    CCML_GNU_NARROW(i16, int16_t, uint16_t, lanes, bytes16) \
    CCML_GNU_NARROW(u16, uint16_t, uint16_t, lanes, bytes16)

/* A machine's conversions to and from i32; the result of `narrow` is cast to either sign. */
#define CCML_GNU_WIDEN(name, lanes, expr) \
    static inline ccml_i32x##lanes ccml_##name##x##lanes##_to_i32(ccml_##name##x##lanes x) \
    { \
        return (ccml_i32x##lanes)(expr); \
    }
#define CCML_GNU_TRUNCATE(name, lanes, narrow) \
    static inline ccml_##name##x##lanes ccml_i32x##lanes##_to_##name(ccml_i32x##lanes x) \
    { \
        return (ccml_##name##x##lanes)narrow(x); \
    }

/* The same as arrays and loops. */
#define CCML_PORTABLE_NARROWS(lanes) \
    CCML_PORTABLE_NARROW(i8, int8_t, lanes) \
    CCML_PORTABLE_NARROW(u8, uint8_t, lanes) \
    CCML_PORTABLE_NARROW(i16, int16_t, lanes) \
    CCML_PORTABLE_NARROW(u16, uint16_t, lanes)
#define CCML_PORTABLE_NARROW(name, type, lanes) \
    CCML_PORTABLE_INTEGER(name, type, lanes, uint32_t) \
    CCML_PORTABLE_CONVERT(name, type, i32, int32_t, lanes, (int32_t)) \
    CCML_PORTABLE_CONVERT(i32, int32_t, name, type, lanes, (type))

/* Every other conversion goes through i32, which holds all values of both sides. */
#define CCML_NARROW_VIA_I32(from, to, lanes) \
    static inline ccml_##to##x##lanes ccml_##from##x##lanes##_to_##to(ccml_##from##x##lanes x) \
    { \
        return ccml_i32x##lanes##_to_##to(ccml_##from##x##lanes##_to_i32(x)); \
    }
#define CCML_NARROW_CONVERSIONS(lanes) \
    CCML_NARROW_CONVERSIONS_OF(i8, int8_t, lanes) \
    CCML_NARROW_CONVERSIONS_OF(u8, uint8_t, lanes) \
    CCML_NARROW_CONVERSIONS_OF(i16, int16_t, lanes) \
    CCML_NARROW_CONVERSIONS_OF(u16, uint16_t, lanes) \
    CCML_NARROW_VIA_I32(i8, u8, lanes) \
    CCML_NARROW_VIA_I32(i8, i16, lanes) \
    CCML_NARROW_VIA_I32(i8, u16, lanes) \
    CCML_NARROW_VIA_I32(u8, i8, lanes) \
    CCML_NARROW_VIA_I32(u8, i16, lanes) \
    CCML_NARROW_VIA_I32(u8, u16, lanes) \
    CCML_NARROW_VIA_I32(i16, i8, lanes) \
    CCML_NARROW_VIA_I32(i16, u8, lanes) \
    CCML_NARROW_VIA_I32(i16, u16, lanes) \
    CCML_NARROW_VIA_I32(u16, i8, lanes) \
    CCML_NARROW_VIA_I32(u16, u8, lanes) \
    CCML_NARROW_VIA_I32(u16, i16, lanes)
#define CCML_NARROW_CONVERSIONS_OF(name, type, lanes) \
    CCML_NARROW_VIA_I32(name, f32, lanes) \
    CCML_NARROW_VIA_I32(name, u32, lanes) \
    CCML_NARROW_VIA_I32(f32, name, lanes) \
    CCML_NARROW_VIA_I32(u32, name, lanes) \
    CCML_PORTABLE_CONVERT(name, type, bool, uint8_t, lanes, CCML_TO_BOOL) \
    CCML_PORTABLE_CONVERT(bool, uint8_t, name, type, lanes, (type))

#endif
