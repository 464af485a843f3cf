/* Part of the ccml runtime: vectors of any element type and any number of lanes as arrays and loops. The definition of
   what every vector function means, and the form that machines without such vectors use.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_VECTOR_H
#define CCML_VECTOR_H

#include "ccml_dot.h"
#include "ccml_float.h"
#include "ccml_widen.h"

/* Functions of one, two and three vectors that apply `expr` to the lanes x (, y, z), giving lanes of `type`. */
#define CCML_LANES1(vector, type, lanes, op, expr) \
    static inline vector vector##_##op(vector a) \
    { \
        vector result; \
        for (int i = 0; i < (lanes); ++i) { \
            const type x = a.lane[i]; \
            result.lane[i] = (type)(expr); \
        } \
        return result; \
    }

#define CCML_LANES2(vector, type, lanes, op, expr) \
    static inline vector vector##_##op(vector a, vector b) \
    { \
        vector result; \
        for (int i = 0; i < (lanes); ++i) { \
            const type x = a.lane[i]; \
            const type y = b.lane[i]; \
            result.lane[i] = (type)(expr); \
        } \
        return result; \
    }

#define CCML_LANES3(vector, type, lanes, op, expr) \
    static inline vector vector##_##op(vector a, vector b, vector c) \
    { \
        vector result; \
        for (int i = 0; i < (lanes); ++i) { \
            const type x = a.lane[i]; \
            const type y = b.lane[i]; \
            const type z = c.lane[i]; \
            result.lane[i] = (type)(expr); \
        } \
        return result; \
    }

/* A comparison; masks come from and go to arrays because their form is the machine's. */
#define CCML_LANES_COMPARE(vector, type, lanes, mask, op, expr) \
    static inline mask vector##_##op(vector a, vector b) \
    { \
        uint8_t result[lanes]; \
        for (int i = 0; i < (lanes); ++i) { \
            const type x = a.lane[i]; \
            const type y = b.lane[i]; \
            result[i] = (expr) ? 1 : 0; \
        } \
        return mask##_load(result); \
    }

/* All lanes as a tree: x from the lower half and y from the upper, until one is left. */
#define CCML_LANES_REDUCE(vector, type, lanes, op, expr) \
    static inline type vector##_reduce_##op(vector a) \
    { \
        type lane[lanes]; \
        vector##_store(lane, a); \
        for (int half = (lanes) / 2; half > 0; half /= 2) { \
            for (int i = 0; i < half; ++i) { \
                const type x = lane[i]; \
                const type y = lane[i + half]; \
                lane[i] = (type)(expr); \
            } \
        } \
        return lane[0]; \
    }

/* The type, and moving it. `_active` functions touch only the first lanes; those not loaded are zero. */
#define CCML_LANES_MOVE(vector, type, lanes) \
    typedef struct { \
        type lane[lanes]; \
    } vector; \
    static inline vector vector##_splat(type x) \
    { \
        vector result; \
        for (int i = 0; i < (lanes); ++i) { \
            result.lane[i] = x; \
        } \
        return result; \
    } \
    static inline type vector##_lane(vector x, int number) \
    { \
        return x.lane[number]; \
    } \
    static inline vector vector##_load_active(const type *from, ptrdiff_t active) \
    { \
        vector result; \
        for (int i = 0; i < (lanes); ++i) { \
            result.lane[i] = (type)(i < active ? from[i] : 0); \
        } \
        return result; \
    } \
    static inline vector vector##_load(const type *from) \
    { \
        return vector##_load_active(from, lanes); \
    } \
    static inline void vector##_store_active(type *to, vector a, ptrdiff_t active) \
    { \
        for (int i = 0; i < (lanes) && i < active; ++i) { \
            to[i] = a.lane[i]; \
        } \
    } \
    static inline void vector##_store(type *to, vector a) \
    { \
        vector##_store_active(to, a, lanes); \
    }

#define CCML_LANES_SELECT(vector, type, lanes, mask) \
    static inline vector vector##_select(mask condition, vector a, vector b) \
    { \
        uint8_t chosen[lanes]; \
        vector result; \
        mask##_store(chosen, condition); \
        for (int i = 0; i < (lanes); ++i) { \
            result.lane[i] = chosen[i] ? a.lane[i] : b.lane[i]; \
        } \
        return result; \
    }

/* Comparisons, selection, minimum and maximum; in(x) is the value of a lane. */
#define CCML_LANES_ORDER(vector, type, lanes, mask, in) \
    CCML_LANES_COMPARE(vector, type, lanes, mask, eq, in(x) == in(y)) \
    CCML_LANES_COMPARE(vector, type, lanes, mask, ne, in(x) != in(y)) \
    CCML_LANES_COMPARE(vector, type, lanes, mask, lt, in(x) < in(y)) \
    CCML_LANES_COMPARE(vector, type, lanes, mask, le, in(x) <= in(y)) \
    CCML_LANES_COMPARE(vector, type, lanes, mask, gt, in(x) > in(y)) \
    CCML_LANES_COMPARE(vector, type, lanes, mask, ge, in(x) >= in(y)) \
    CCML_LANES_SELECT(vector, type, lanes, mask) \
    CCML_LANES2(vector, type, lanes, min, in(x) < in(y) ? x : y) \
    CCML_LANES2(vector, type, lanes, max, in(x) > in(y) ? x : y) \
    CCML_LANES_REDUCE(vector, type, lanes, min, in(x) < in(y) ? x : y) \
    CCML_LANES_REDUCE(vector, type, lanes, max, in(x) > in(y) ? x : y)

/* Element types whose arithmetic is that of `in`, rounded by `out`. */
#define CCML_PORTABLE_FLOAT(name, type, lanes, in, out) \
    CCML_PORTABLE_FLOAT_OF(ccml_##name##x##lanes, ccml_##name, type, lanes, ccml_boolx##lanes, in, out)
#define CCML_PORTABLE_FLOAT_OF(vector, scalar, type, lanes, mask, in, out) \
    CCML_LANES_MOVE(vector, type, lanes) \
    CCML_LANES_ORDER(vector, type, lanes, mask, in) \
    CCML_LANES2(vector, type, lanes, add, out(in(x) + in(y))) \
    CCML_LANES2(vector, type, lanes, sub, out(in(x) - in(y))) \
    CCML_LANES2(vector, type, lanes, mul, out(in(x) * in(y))) \
    CCML_LANES2(vector, type, lanes, div, out(in(x) / in(y))) \
    CCML_LANES1(vector, type, lanes, neg, out(-in(x))) \
    CCML_LANES1(vector, type, lanes, abs, scalar##_abs(x)) \
    CCML_LANES1(vector, type, lanes, sqrt, scalar##_sqrt(x)) \
    CCML_LANES1(vector, type, lanes, floor, scalar##_floor(x)) \
    CCML_LANES1(vector, type, lanes, ceil, scalar##_ceil(x)) \
    CCML_LANES1(vector, type, lanes, trunc, scalar##_trunc(x)) \
    CCML_LANES1(vector, type, lanes, round_even, scalar##_round_even(x)) \
    CCML_LANES3(vector, type, lanes, fma, scalar##_fma(x, y, z)) \
    CCML_LANES_REDUCE(vector, type, lanes, add, out(in(x) + in(y))) \
    CCML_LANES_REDUCE(vector, type, lanes, mul, out(in(x) * in(y)))

/* Integers wrap around: they are computed in the unsigned type `wide`. */
#define CCML_PORTABLE_INTEGER(name, type, lanes, wide) \
    CCML_PORTABLE_INTEGER_OF(ccml_##name##x##lanes, type, lanes, ccml_boolx##lanes, wide)
#define CCML_PORTABLE_INTEGER_OF(vector, type, lanes, mask, wide) \
    CCML_LANES_MOVE(vector, type, lanes) \
    CCML_LANES_ORDER(vector, type, lanes, mask, (type)) \
    CCML_LANES2(vector, type, lanes, add, (wide)x + (wide)y) \
    CCML_LANES2(vector, type, lanes, sub, (wide)x - (wide)y) \
    CCML_LANES2(vector, type, lanes, mul, (wide)x * (wide)y) \
    CCML_LANES2(vector, type, lanes, div, x / y) \
    CCML_LANES2(vector, type, lanes, mod, x % y) \
    CCML_LANES2(vector, type, lanes, and, (wide)x &(wide)y) \
    CCML_LANES2(vector, type, lanes, or, (wide)x | (wide)y) \
    CCML_LANES2(vector, type, lanes, xor, (wide)x ^ (wide)y) \
    CCML_LANES2(vector, type, lanes, shl, (wide)x << y) \
    CCML_LANES2(vector, type, lanes, shr, x >> y) \
    CCML_LANES1(vector, type, lanes, neg, (wide)0 - (wide)x) \
    CCML_LANES1(vector, type, lanes, not, ~(wide)x) \
    CCML_LANES1(vector, type, lanes, abs, x > 0 ? (wide)x : (wide)0 - (wide)x) \
    CCML_LANES_REDUCE(vector, type, lanes, add, (wide)x + (wide)y) \
    CCML_LANES_REDUCE(vector, type, lanes, mul, (wide)x * (wide)y)

/* The upper words of products, for vectors of i32 of any form. */
#define CCML_LANES_MUL_HIGH(vector, lanes) \
    static inline vector vector##_mul_high(vector a, vector b) \
    { \
        int32_t x[lanes]; \
        int32_t y[lanes]; \
        vector##_store(x, a); \
        vector##_store(y, b); \
        for (int i = 0; i < (lanes); ++i) { \
            x[i] = (int32_t)((int64_t)x[i] * y[i] >> 32); \
        } \
        return vector##_load(x); \
    }

/* Dot products, for vectors of i32. */
#define CCML_PORTABLE_DOT(lanes) CCML_PORTABLE_DOT_OF(ccml_i32x##lanes, lanes)
#define CCML_PORTABLE_DOT_OF(vector, lanes) \
    CCML_LANES3(vector, int32_t, lanes, dot4_u8i8, ccml_i32_dot4_u8i8(x, y, z)) \
    CCML_LANES3(vector, int32_t, lanes, dot4_i8i8, ccml_i32_dot4_i8i8(x, y, z)) \
    CCML_LANES3(vector, int32_t, lanes, dot2_i16i16, ccml_i32_dot2_i16i16(x, y, z)) \
    CCML_LANES1(vector, int32_t, lanes, even_bytes, ccml_i32_even_bytes(x)) \
    CCML_LANES1(vector, int32_t, lanes, odd_bytes, ccml_i32_odd_bytes(x)) \
    CCML_LANES1(vector, int32_t, lanes, widen_even, ccml_i32_widen_even(x)) \
    CCML_LANES1(vector, int32_t, lanes, widen_odd, ccml_i32_widen_odd(x))

/* Masks: lanes of 0 and 1. */
#define CCML_PORTABLE_BOOL(lanes) CCML_PORTABLE_BOOL_OF(ccml_boolx##lanes, lanes)
#define CCML_PORTABLE_BOOL_OF(vector, lanes) \
    CCML_LANES_MOVE(vector, uint8_t, lanes) \
    CCML_LANES_SELECT(vector, uint8_t, lanes, vector) \
    CCML_LANES1(vector, uint8_t, lanes, not, x == 0) \
    CCML_LANES2(vector, uint8_t, lanes, and, (x & y) != 0) \
    CCML_LANES2(vector, uint8_t, lanes, or, (x | y) != 0) \
    CCML_LANES2(vector, uint8_t, lanes, xor, x != y)

/* ccml_<from>x<lanes>_to_<to>, lane by lane as convert(x). */
#define CCML_PORTABLE_CONVERT(from, from_type, to, to_type, lanes, convert) \
    CCML_PORTABLE_CONVERT_OF(ccml_##from##x##lanes, from_type, ccml_##to##x##lanes, to, to_type, lanes, convert)
#define CCML_PORTABLE_CONVERT_OF(from, from_type, to, to_name, to_type, lanes, convert) \
    static inline to from##_to_##to_name(from a) \
    { \
        from_type x[lanes]; \
        to_type result[lanes]; \
        from##_store(x, a); \
        for (int i = 0; i < (lanes); ++i) { \
            result[i] = convert(x[i]); \
        } \
        return to##_load(result); \
    }

#define CCML_TO_BOOL(x) (uint8_t)((x) != 0)

/* ccml_<from>_as_<to>: the same bytes as another type of the same size, scalars or vectors. */
#define CCML_PORTABLE_BITCAST(from_name, from, to_name, to) \
    static inline to ccml_##from_name##_as_##to_name(from x) \
    { \
        union { \
            from in; \
            to out; \
        } both; \
        both.in = x; \
        return both.out; \
    }

/* What ccml_x4.h, ccml_x8.h and ccml_x16.h hold: numbers of 32 bits, masks, and the conversions among them. */
#define CCML_PORTABLE_X32(lanes) \
    CCML_PORTABLE_BOOL(lanes) \
    CCML_PORTABLE_FLOAT(f32, float, lanes, , ) \
    CCML_PORTABLE_INTEGER(i32, int32_t, lanes, uint32_t) \
    CCML_PORTABLE_DOT(lanes) \
    CCML_PORTABLE_INTEGER(u32, uint32_t, lanes, uint32_t) \
    CCML_PORTABLE_CONVERT(f32, float, i32, int32_t, lanes, (int32_t)) \
    CCML_PORTABLE_CONVERT(f32, float, u32, uint32_t, lanes, (uint32_t)) \
    CCML_PORTABLE_CONVERT(f32, float, bool, uint8_t, lanes, CCML_TO_BOOL) \
    CCML_PORTABLE_CONVERT(i32, int32_t, f32, float, lanes, (float)) \
    CCML_PORTABLE_CONVERT(i32, int32_t, u32, uint32_t, lanes, (uint32_t)) \
    CCML_PORTABLE_CONVERT(i32, int32_t, bool, uint8_t, lanes, CCML_TO_BOOL) \
    CCML_PORTABLE_CONVERT(u32, uint32_t, f32, float, lanes, (float)) \
    CCML_PORTABLE_CONVERT(u32, uint32_t, i32, int32_t, lanes, (int32_t)) \
    CCML_PORTABLE_CONVERT(u32, uint32_t, bool, uint8_t, lanes, CCML_TO_BOOL) \
    CCML_PORTABLE_CONVERT(bool, uint8_t, f32, float, lanes, (float)) \
    CCML_PORTABLE_CONVERT(bool, uint8_t, i32, int32_t, lanes, (int32_t)) \
    CCML_PORTABLE_CONVERT(bool, uint8_t, u32, uint32_t, lanes, (uint32_t)) \
    CCML_PORTABLE_BITCAST(f32x##lanes, ccml_f32x##lanes, i32x##lanes, ccml_i32x##lanes) \
    CCML_PORTABLE_BITCAST(f32x##lanes, ccml_f32x##lanes, u32x##lanes, ccml_u32x##lanes) \
    CCML_PORTABLE_BITCAST(i32x##lanes, ccml_i32x##lanes, f32x##lanes, ccml_f32x##lanes) \
    CCML_PORTABLE_BITCAST(i32x##lanes, ccml_i32x##lanes, u32x##lanes, ccml_u32x##lanes) \
    CCML_PORTABLE_BITCAST(u32x##lanes, ccml_u32x##lanes, f32x##lanes, ccml_f32x##lanes) \
    CCML_PORTABLE_BITCAST(u32x##lanes, ccml_u32x##lanes, i32x##lanes, ccml_i32x##lanes)

#endif
