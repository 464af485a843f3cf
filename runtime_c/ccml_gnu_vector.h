/* Part of the ccml runtime: vectors of 32-bit lanes as vectors of GNU C, for widths that the machine has. What differs
   from machine to machine stands in ccml_x4.h, ccml_x8.h and ccml_x16.h. The meaning is that of ccml_vector.h.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GNU_VECTOR_H
#define CCML_GNU_VECTOR_H

#include "ccml_integer.h"
#include "ccml_vector.h"

#define CCML_REPEAT4(x) x, x, x, x
#define CCML_REPEAT8(x) CCML_REPEAT4(x), CCML_REPEAT4(x)
#define CCML_REPEAT16(x) CCML_REPEAT8(x), CCML_REPEAT8(x)

#define CCML_GNU1(vector, op, expr) \
    static inline vector vector##_##op(vector x) \
    { \
        return (vector)(expr); \
    }

#define CCML_GNU2(vector, op, expr) \
    static inline vector vector##_##op(vector x, vector y) \
    { \
        return (vector)(expr); \
    }

#define CCML_GNU3(vector, op, expr) \
    static inline vector vector##_##op(vector x, vector y, vector z) \
    { \
        return (vector)(expr); \
    }

#define CCML_GNU_COMPARE(vector, mask, op, expr) \
    static inline mask vector##_##op(vector x, vector y) \
    { \
        return (mask)(expr); \
    }

/* A function of the scalar runtime lane by lane, where the machine has no vector instruction for it. */
#define CCML_GNU_SCALAR1(vector, scalar, lanes, op) \
    static inline vector vector##_##op(vector x) \
    { \
        for (int i = 0; i < (lanes); ++i) { \
            x[i] = scalar##_##op(x[i]); \
        } \
        return x; \
    }

#define CCML_GNU_SCALAR3(vector, scalar, lanes, op) \
    static inline vector vector##_##op(vector x, vector y, vector z) \
    { \
        for (int i = 0; i < (lanes); ++i) { \
            x[i] = scalar##_##op(x[i], y[i], z[i]); \
        } \
        return x; \
    }

/* Dot products lane by lane, where the machine has no instruction. */
#define CCML_GNU_DOT(vector, lanes, op) CCML_GNU_SCALAR3(vector, ccml_i32, lanes, op)

/* Dot products by a machine's functions: those that add to x, and pairs of products that are added here. The empty
   instruction keeps GCC from adding up many products in another order, for which it runs out of registers. */
#define CCML_X86_DOT(vector, reg, op, dot) CCML_GNU3(vector, op, dot((reg)x, (reg)y, (reg)z))
#define CCML_X86_PAIRS(vector, reg, products) \
    static inline vector vector##_dot2_i16i16(vector x, vector y, vector z) \
    { \
        x = vector##_add(x, (vector)products((reg)y, (reg)z)); \
        __asm__("" : "+v"(x)); \
        return x; \
    }

/* The bytes at even and at odd places as unsigned halfwords. The empty instruction keeps GCC from taking the bytes apart
   before it copies them to all lanes, which it would do in other registers. */
#define CCML_X86_APART(vector, reg, shift, signed_shift, left) \
    static inline vector vector##_even_bytes(vector x) \
    { \
        __asm__("" : "+v"(x)); \
        return x & 0x00FF00FF; \
    } \
    static inline vector vector##_odd_bytes(vector x) \
    { \
        return (vector)shift((reg)x, 8); \
    } \
    static inline vector vector##_widen_even(vector x) \
    { \
        return (vector)signed_shift(left((reg)x, 8), 8); \
    } \
    static inline vector vector##_widen_odd(vector x) \
    { \
        return (vector)signed_shift((reg)x, 8); \
    }
#define CCML_GNU_APART(vector, lanes) \
    CCML_GNU_SCALAR1(vector, ccml_i32, lanes, widen_even) \
    CCML_GNU_SCALAR1(vector, ccml_i32, lanes, widen_odd) \
    CCML_GNU_SCALAR1(vector, ccml_i32, lanes, even_bytes) \
    CCML_GNU_SCALAR1(vector, ccml_i32, lanes, odd_bytes)

/* Four lanes combined. */
#define CCML_GNU_REDUCE4(vector, type, op, combine) \
    static inline type vector##_reduce_##op(vector x) \
    { \
        return combine(combine(x[0], x[2]), combine(x[1], x[3])); \
    }

#define CCML_ADD(x, y) ((x) + (y))
#define CCML_MUL(x, y) ((x) * (y))
#define CCML_ADD_I32(x, y) (int32_t)((uint32_t)(x) + (uint32_t)(y))
#define CCML_MUL_I32(x, y) (int32_t)((uint32_t)(x) * (uint32_t)(y))

/* Two halves combined, taken by CCML_LOWER and CCML_UPPER. */
#define CCML_GNU_REDUCE(vector, type, half, op) \
    static inline type vector##_reduce_##op(vector x) \
    { \
        return half##_reduce_##op(half##_##op(CCML_LOWER(x), CCML_UPPER(x))); \
    }

#define CCML_GNU_REDUCE_ALL(vector, type, half) \
    CCML_GNU_REDUCE(vector, type, half, add) \
    CCML_GNU_REDUCE(vector, type, half, mul) \
    CCML_GNU_REDUCE(vector, type, half, min) \
    CCML_GNU_REDUCE(vector, type, half, max)

/* The type and its moves; `loose` is the same vector at any address among elements of any type. */
#define CCML_GNU_MOVE(name, type, lanes, bytes) CCML_GNU_MOVE_OF(ccml_##name##x##lanes, type, lanes, bytes)
#define CCML_GNU_MOVE_OF(vector, type, lanes, bytes) \
    typedef type vector __attribute__((vector_size(bytes))); \
    typedef type vector##_loose __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias)); \
    static inline vector vector##_splat(type x) \
    { \
        return (vector){CCML_REPEAT##lanes(x)}; \
    } \
    static inline type vector##_lane(vector x, int number) \
    { \
        return x[number]; \
    } \
    static inline vector vector##_load(const type *from) \
    { \
        return (vector)(*(const vector##_loose *)(const void *)from); \
    } \
    static inline void vector##_store(type *to, vector x) \
    { \
        *(vector##_loose *)(void *)to = (vector##_loose)x; \
    }

/* Only the first lanes, where the machine has no masked move. */
#define CCML_GNU_ACTIVE(name, type, lanes) CCML_GNU_ACTIVE_OF(ccml_##name##x##lanes, type, lanes)
#define CCML_GNU_ACTIVE_OF(vector, type, lanes) \
    static inline vector vector##_load_active(const type *from, ptrdiff_t active) \
    { \
        type lane[lanes] = {0}; \
        for (int i = 0; i < (lanes) && i < active; ++i) { \
            lane[i] = from[i]; \
        } \
        return vector##_load(lane); \
    } \
    static inline void vector##_store_active(type *to, vector x, ptrdiff_t active) \
    { \
        for (int i = 0; i < (lanes) && i < active; ++i) { \
            to[i] = x[i]; \
        } \
    }

/* Masked moves by a machine's `load(from, mask)` and `store(to, mask, value)` of that element type. */
#define CCML_GNU_MASKED(name, type, lanes, mask, load, store) \
    CCML_GNU_MASKED_OF(ccml_##name##x##lanes, type, mask, load, store)
#define CCML_GNU_MASKED_OF(vector, type, mask, load, store) \
    static inline vector vector##_load_active(const type *from, ptrdiff_t active) \
    { \
        return (vector)load(from, mask(active)); \
    } \
    static inline void vector##_store_active(type *to, vector x, ptrdiff_t active) \
    { \
        store(to, mask(active), x); \
    }

/* The sign is a bit, of NaN as well. */
#define CCML_GNU_FLOAT(vector, ints) \
    CCML_GNU2(vector, div, x / y) \
    CCML_GNU1(vector, neg, (ints)x ^ ints##_splat(INT32_MIN)) \
    CCML_GNU1(vector, abs, (ints)x & ints##_splat(INT32_MAX))

#define CCML_GNU_ARITHMETIC(vector) \
    CCML_GNU2(vector, add, x + y) \
    CCML_GNU2(vector, sub, x - y) \
    CCML_GNU2(vector, mul, x * y)

/* Wrap-around is that of the unsigned vector `wide`. */
#define CCML_GNU_INTEGER(vector, wide) \
    CCML_GNU2(vector, add, (wide)x + (wide)y) \
    CCML_GNU2(vector, sub, (wide)x - (wide)y) \
    CCML_GNU2(vector, mul, (wide)x * (wide)y) \
    CCML_GNU2(vector, div, x / y) \
    CCML_GNU2(vector, mod, x % y) \
    CCML_GNU2(vector, and, x & y) \
    CCML_GNU2(vector, or, x | y) \
    CCML_GNU2(vector, xor, x ^ y) \
    CCML_GNU2(vector, shl, (wide)x << (wide)y) \
    CCML_GNU2(vector, shr, x >> y) \
    CCML_GNU1(vector, neg, (wide){0} - (wide)x) \
    CCML_GNU1(vector, not, ~x)

/* Masks as vectors of 0 and -1: comparisons, selection, and what follows from them. */
#define CCML_GNU_ORDER(vector, ints) \
    CCML_GNU_COMPARE(vector, ints, eq, x == y) \
    CCML_GNU_COMPARE(vector, ints, ne, x != y) \
    CCML_GNU_COMPARE(vector, ints, lt, x < y) \
    CCML_GNU_COMPARE(vector, ints, le, x <= y) \
    CCML_GNU_COMPARE(vector, ints, gt, x > y) \
    CCML_GNU_COMPARE(vector, ints, ge, x >= y)

#define CCML_GNU_SELECT(vector, mask) \
    static inline vector vector##_select(mask condition, vector x, vector y) \
    { \
        return (vector)(((mask)x & condition) | ((mask)y & ~condition)); \
    }

#define CCML_GNU_MIN_MAX(vector) \
    CCML_GNU2(vector, min, vector##_select(vector##_lt(x, y), x, y)) \
    CCML_GNU2(vector, max, vector##_select(vector##_gt(x, y), x, y))

#define CCML_GNU_CONVERT(from, to, to_name) \
    static inline to from##_to_##to_name(from x) \
    { \
        return __builtin_convertvector(x, to); \
    }

/* Between floats and integers, with Helium by `instruction`: GCC 12 would convert lane by lane. */
#if CCML_MVE
#define CCML_GNU_CONVERT_FLOAT(from, to, to_name, instruction) \
    static inline to from##_to_##to_name(from x) \
    { \
        to result; \
        __asm__(instruction " %q0, %q1" : "=w"(result) : "w"(x)); \
        return result; \
    }
#else
#define CCML_GNU_CONVERT_FLOAT(from, to, to_name, instruction) CCML_GNU_CONVERT(from, to, to_name)
#endif

#define CCML_GNU_BITCAST(from, to, lanes) \
    static inline ccml_##to##x##lanes ccml_##from##x##lanes##_as_##to##x##lanes(ccml_##from##x##lanes x) \
    { \
        return (ccml_##to##x##lanes)x; \
    }

/* Masks as vectors of 0 and -1 of 32 bits; in memory a mask is bytes of 0 and 1. */
#define CCML_GNU_BOOL(mask, lanes, bytes) \
    typedef int32_t mask __attribute__((vector_size(bytes))); \
    static inline mask mask##_splat(int x) \
    { \
        const int32_t lane = x ? -1 : 0; \
        return (mask){CCML_REPEAT##lanes(lane)}; \
    } \
    static inline mask mask##_load_active(const uint8_t *from, ptrdiff_t active) \
    { \
        mask result = {0}; \
        for (int i = 0; i < (lanes) && i < active; ++i) { \
            result[i] = from[i] ? -1 : 0; \
        } \
        return result; \
    } \
    static inline void mask##_store_active(uint8_t *to, mask x, ptrdiff_t active) \
    { \
        for (int i = 0; i < (lanes) && i < active; ++i) { \
            to[i] = (uint8_t)(x[i] & 1); \
        } \
    } \
    CCML_GNU2(mask, and, x & y) \
    CCML_GNU2(mask, or, x | y) \
    CCML_GNU2(mask, xor, x ^ y) \
    CCML_GNU1(mask, not, ~x) \
    CCML_GNU_SELECT(mask, mask)

/* ccml_boolx<lanes>_to_<name> and back, for a number type of that many 32-bit lanes. */
#define CCML_GNU_FROM_BOOL(mask, ints, vector, name) \
    static inline vector mask##_to_##name(mask x) \
    { \
        return __builtin_convertvector((ints)(x & 1), vector); \
    }

#define CCML_GNU_TO_BOOL(vector, mask) \
    static inline mask vector##_to_bool(vector x) \
    { \
        return vector##_ne(x, vector##_splat(0)); \
    }

#define CCML_GNU_BOOL_CONVERT(mask, floats, ints, unsigneds) \
    CCML_GNU_FROM_BOOL(mask, ints, floats, f32) \
    CCML_GNU_FROM_BOOL(mask, ints, ints, i32) \
    CCML_GNU_FROM_BOOL(mask, ints, unsigneds, u32) \
    CCML_GNU_TO_BOOL(floats, mask) \
    CCML_GNU_TO_BOOL(ints, mask) \
    CCML_GNU_TO_BOOL(unsigneds, mask)

/* Full moves of masks by the partial ones. */
#define CCML_GNU_BOOL_MOVE(mask, lanes) \
    static inline mask mask##_load(const uint8_t *from) \
    { \
        return mask##_load_active(from, lanes); \
    } \
    static inline void mask##_store(uint8_t *to, mask x) \
    { \
        mask##_store_active(to, x, lanes); \
    }

/* Every number type of `lanes` lanes but for what the machine says: order, moves of some lanes, reductions, fma ... */
#define CCML_GNU_NUMBERS(lanes, bytes) \
    CCML_GNU_MOVE(f32, float, lanes, bytes) \
    CCML_GNU_MOVE(i32, int32_t, lanes, bytes) \
    CCML_GNU_MOVE(u32, uint32_t, lanes, bytes) \
    CCML_GNU_NUMBERS_OF(ccml_f32x##lanes, ccml_i32x##lanes, ccml_u32x##lanes) \
    CCML_GNU_BITCAST(f32, i32, lanes) \
    CCML_GNU_BITCAST(f32, u32, lanes) \
    CCML_GNU_BITCAST(i32, f32, lanes) \
    CCML_GNU_BITCAST(i32, u32, lanes) \
    CCML_GNU_BITCAST(u32, f32, lanes) \
    CCML_GNU_BITCAST(u32, i32, lanes)
#define CCML_GNU_NUMBERS_OF(floats, ints, unsigneds) \
    CCML_GNU_FLOAT(floats, ints) \
    CCML_GNU_INTEGER(ints, unsigneds) \
    CCML_GNU_INTEGER(unsigneds, unsigneds) \
    CCML_GNU1(ints, abs, ((unsigneds)x ^ (unsigneds)(x >> 31)) - (unsigneds)(x >> 31)) \
    CCML_GNU1(unsigneds, abs, x) \
    CCML_GNU_CONVERT_FLOAT(floats, ints, i32, "vcvt.s32.f32") \
    CCML_GNU_CONVERT_FLOAT(floats, unsigneds, u32, "vcvt.u32.f32") \
    CCML_GNU_CONVERT_FLOAT(ints, floats, f32, "vcvt.f32.s32") \
    CCML_GNU_CONVERT(ints, unsigneds, u32) \
    CCML_GNU_CONVERT_FLOAT(unsigneds, floats, f32, "vcvt.f32.u32") \
    CCML_GNU_CONVERT(unsigneds, ints, i32)

#endif
