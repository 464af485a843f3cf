/* Part of the ccml runtime: what vectors of 64-bit integers have in common. They are vectors of GNU C where a register
   holds them, else pairs of halves. Their form on a machine stands in ccml_long4.h, ccml_long8.h and ccml_long16.h; the
   meaning is that of ccml_vector.h.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_LONG_H
#define CCML_LONG_H

#include "ccml_narrow.h"

#define CCML_REPEAT2(x) x, x

/* As arrays and loops. */
#define CCML_PORTABLE_LONGS(lanes) \
    CCML_PORTABLE_INTEGER(i64, int64_t, lanes, uint64_t) \
    CCML_PORTABLE_INTEGER(u64, uint64_t, lanes, uint64_t) \
    CCML_PORTABLE_CONVERT(i32, int32_t, i64, int64_t, lanes, (int64_t)) \
    CCML_PORTABLE_CONVERT(u32, uint32_t, i64, int64_t, lanes, (int64_t)) \
    CCML_PORTABLE_CONVERT(i64, int64_t, i32, int32_t, lanes, (int32_t)) \
    CCML_PORTABLE_CONVERT(i64, int64_t, u64, uint64_t, lanes, (uint64_t)) \
    CCML_PORTABLE_CONVERT(u64, uint64_t, i64, int64_t, lanes, (int64_t)) \
    CCML_PORTABLE_LONG_PRODUCT(ccml_i64x##lanes, ccml_i32x##lanes, lanes)
#define CCML_PORTABLE_LONG_PRODUCT(vector, ints, lanes) \
    static inline vector vector##_product(ints a, ints b) \
    { \
        int32_t x[lanes]; \
        int32_t y[lanes]; \
        vector result; \
        ints##_store(x, a); \
        ints##_store(y, b); \
        for (int i = 0; i < (lanes); ++i) { \
            result.lane[i] = (int64_t)x[i] * y[i]; \
        } \
        return result; \
    }

/* Functions that apply `expr` lane by lane in memory: what vectors are seldom asked for. */
#define CCML_LONG_LANES1(vector, type, lanes, op, expr) \
    static inline vector vector##_##op(vector a) \
    { \
        type lane[lanes]; \
        vector##_store(lane, a); \
        for (int i = 0; i < (lanes); ++i) { \
            const type x = lane[i]; \
            lane[i] = (type)(expr); \
        } \
        return vector##_load(lane); \
    }

#define CCML_LONG_LANES2(vector, type, lanes, op, expr) \
    static inline vector vector##_##op(vector a, vector b) \
    { \
        type lane[lanes]; \
        type other[lanes]; \
        vector##_store(lane, a); \
        vector##_store(other, b); \
        for (int i = 0; i < (lanes); ++i) { \
            const type x = lane[i]; \
            const type y = other[i]; \
            lane[i] = (type)(expr); \
        } \
        return vector##_load(lane); \
    }

#define CCML_LONG_COMPARE(vector, type, lanes, mask, op, expr) \
    static inline mask vector##_##op(vector a, vector b) \
    { \
        type lane[lanes]; \
        type other[lanes]; \
        uint8_t result[lanes]; \
        vector##_store(lane, a); \
        vector##_store(other, b); \
        for (int i = 0; i < (lanes); ++i) { \
            const type x = lane[i]; \
            const type y = other[i]; \
            result[i] = (expr) ? 1 : 0; \
        } \
        return mask##_load(result); \
    }

#define CCML_LONG_SELECT(vector, type, lanes, mask) \
    static inline vector vector##_select(mask condition, vector a, vector b) \
    { \
        uint8_t chosen[lanes]; \
        type lane[lanes]; \
        type other[lanes]; \
        mask##_store(chosen, condition); \
        vector##_store(lane, a); \
        vector##_store(other, b); \
        for (int i = 0; i < (lanes); ++i) { \
            lane[i] = chosen[i] ? lane[i] : other[i]; \
        } \
        return vector##_load(lane); \
    }

#define CCML_LONG_ACTIVE(vector, type, lanes) \
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
        type lane[lanes]; \
        vector##_store(lane, x); \
        for (int i = 0; i < (lanes) && i < active; ++i) { \
            to[i] = lane[i]; \
        } \
    }

#define CCML_LONG_SELDOM(vector, type, lanes, mask) \
    CCML_LONG_ACTIVE(vector, type, lanes) \
    CCML_LONG_COMPARE(vector, type, lanes, mask, eq, x == y) \
    CCML_LONG_COMPARE(vector, type, lanes, mask, ne, x != y) \
    CCML_LONG_COMPARE(vector, type, lanes, mask, lt, x < y) \
    CCML_LONG_COMPARE(vector, type, lanes, mask, le, x <= y) \
    CCML_LONG_COMPARE(vector, type, lanes, mask, gt, x > y) \
    CCML_LONG_COMPARE(vector, type, lanes, mask, ge, x >= y) \
    CCML_LONG_SELECT(vector, type, lanes, mask) \
    CCML_LONG_LANES1(vector, type, lanes, abs, x > 0 ? (uint64_t)x : (uint64_t)0 - (uint64_t)x) \
    CCML_LONG_LANES2(vector, type, lanes, div, x / y) \
    CCML_LONG_LANES2(vector, type, lanes, mod, x % y) \
    CCML_LANES_REDUCE(vector, type, lanes, add, (uint64_t)x + (uint64_t)y) \
    CCML_LANES_REDUCE(vector, type, lanes, mul, (uint64_t)x * (uint64_t)y) \
    CCML_LANES_REDUCE(vector, type, lanes, min, x < y ? x : y) \
    CCML_LANES_REDUCE(vector, type, lanes, max, x > y ? x : y)

/* In a register. Machines whose shifts take in zeros alone shift numbers with the sign turned, which is not negative. */
#define CCML_LONG_REGISTER(lanes, bytes) \
    CCML_GNU_MOVE(i64, int64_t, lanes, bytes) \
    CCML_GNU_MOVE(u64, uint64_t, lanes, bytes) \
    CCML_LONG_REGISTER_OF(ccml_i64x##lanes, ccml_u64x##lanes) \
    CCML_LONG_REGISTER_OF(ccml_u64x##lanes, ccml_u64x##lanes) \
    CCML_GNU2(ccml_u64x##lanes, shr, x >> y) \
    CCML_LONG_CAST(ccml_i64x##lanes, u64, ccml_u64x##lanes) \
    CCML_LONG_CAST(ccml_u64x##lanes, i64, ccml_i64x##lanes)
#define CCML_LONG_REGISTER_OF(vector, wide) \
    CCML_GNU2(vector, add, (wide)x + (wide)y) \
    CCML_GNU2(vector, sub, (wide)x - (wide)y) \
    CCML_GNU2(vector, mul, (wide)x * (wide)y) \
    CCML_GNU2(vector, and, x & y) \
    CCML_GNU2(vector, or, x | y) \
    CCML_GNU2(vector, xor, x ^ y) \
    CCML_GNU2(vector, shl, (wide)x << (wide)y) \
    CCML_GNU1(vector, neg, (wide){0} - (wide)x) \
    CCML_GNU1(vector, not, ~x) \
    CCML_GNU2(vector, min, (x & (vector)(x < y)) | (y & ~(vector)(x < y))) \
    CCML_GNU2(vector, max, (x & (vector)(x > y)) | (y & ~(vector)(x > y)))
#define CCML_LONG_CAST(from, to_name, to) \
    static inline to from##_to_##to_name(from x) \
    { \
        return (to)x; \
    }
#define CCML_LONG_SHIFT(vector, wide) \
    static inline vector vector##_shr(vector x, vector y) \
    { \
        const wide sign = wide##_splat((uint64_t)1 << 63); \
        return (vector)((((wide)x ^ sign) >> (wide)y) - (sign >> (wide)y)); \
    }

/* As a pair of halves of `half_lanes` each. */
#define CCML_LONG_PAIR(lanes, half_lanes) \
    CCML_LONG_PAIR_OF(ccml_i64x##lanes, ccml_i64x##half_lanes, int64_t, half_lanes) \
    CCML_LONG_PAIR_OF(ccml_u64x##lanes, ccml_u64x##half_lanes, uint64_t, half_lanes) \
    CCML_LONG_PAIR_CAST(ccml_i64x##lanes, ccml_i64x##half_lanes, u64, ccml_u64x##lanes) \
    CCML_LONG_PAIR_CAST(ccml_u64x##lanes, ccml_u64x##half_lanes, i64, ccml_i64x##lanes)
#define CCML_LONG_PAIR_OF(vector, half, type, half_lanes) \
    typedef struct { \
        half low; \
        half high; \
    } vector; \
    static inline vector vector##_splat(type x) \
    { \
        const half all = half##_splat(x); \
        const vector result = {all, all}; \
        return result; \
    } \
    static inline type vector##_lane(vector x, int number) \
    { \
        return number < (half_lanes) ? half##_lane(x.low, number) : half##_lane(x.high, number - (half_lanes)); \
    } \
    static inline vector vector##_load(const type *from) \
    { \
        const vector result = {half##_load(from), half##_load(from + (half_lanes))}; \
        return result; \
    } \
    static inline void vector##_store(type *to, vector x) \
    { \
        half##_store(to, x.low); \
        half##_store(to + (half_lanes), x.high); \
    } \
    CCML_LONG_PAIR2(vector, half, add) \
    CCML_LONG_PAIR2(vector, half, sub) \
    CCML_LONG_PAIR2(vector, half, mul) \
    CCML_LONG_PAIR2(vector, half, and) \
    CCML_LONG_PAIR2(vector, half, or) \
    CCML_LONG_PAIR2(vector, half, xor) \
    CCML_LONG_PAIR2(vector, half, shl) \
    CCML_LONG_PAIR2(vector, half, shr) \
    CCML_LONG_PAIR2(vector, half, min) \
    CCML_LONG_PAIR2(vector, half, max) \
    CCML_LONG_PAIR1(vector, half, neg) \
    CCML_LONG_PAIR1(vector, half, not)
#define CCML_LONG_PAIR1(vector, half, op) \
    static inline vector vector##_##op(vector x) \
    { \
        const vector result = {half##_##op(x.low), half##_##op(x.high)}; \
        return result; \
    }
#define CCML_LONG_PAIR2(vector, half, op) \
    static inline vector vector##_##op(vector x, vector y) \
    { \
        const vector result = {half##_##op(x.low, y.low), half##_##op(x.high, y.high)}; \
        return result; \
    }
#define CCML_LONG_PAIR_CAST(from, half, to_name, to) \
    static inline to from##_to_##to_name(from x) \
    { \
        const to result = {half##_to_##to_name(x.low), half##_to_##to_name(x.high)}; \
        return result; \
    }

/* From and to vectors of words, which are taken apart by low_of and high_of and put together by join: of registers by the
   machine's functions for the halves of words, `from` signed and unsigned ones and `to` them, and products; */
#define CCML_LONG_WORDS(lanes, reg, from, from_unsigned, to, product_of) \
    static inline ccml_i64x##lanes ccml_i32x##lanes##_to_i64(ccml_i32x##lanes x) \
    { \
        return (ccml_i64x##lanes)from((reg)x); \
    } \
    static inline ccml_i64x##lanes ccml_u32x##lanes##_to_i64(ccml_u32x##lanes x) \
    { \
        return (ccml_i64x##lanes)from_unsigned((reg)x); \
    } \
    static inline ccml_i32x##lanes ccml_i64x##lanes##_to_i32(ccml_i64x##lanes x) \
    { \
        return (ccml_i32x##lanes)to(x); \
    } \
    static inline ccml_i64x##lanes ccml_i64x##lanes##_product(ccml_i32x##lanes x, ccml_i32x##lanes y) \
    { \
        return (ccml_i64x##lanes)product_of((reg)x, (reg)y); \
    }

/* of pairs by those for their halves. */
#define CCML_LONG_PAIR_WORDS(lanes, low_of, high_of, from, from_unsigned, to, join, product_of) \
    static inline ccml_i64x##lanes ccml_i32x##lanes##_to_i64(ccml_i32x##lanes x) \
    { \
        const ccml_i64x##lanes result = {from(low_of(x)), from(high_of(x))}; \
        return result; \
    } \
    static inline ccml_i64x##lanes ccml_u32x##lanes##_to_i64(ccml_u32x##lanes x) \
    { \
        const ccml_i64x##lanes result = {from_unsigned(low_of(x)), from_unsigned(high_of(x))}; \
        return result; \
    } \
    static inline ccml_i32x##lanes ccml_i64x##lanes##_to_i32(ccml_i64x##lanes x) \
    { \
        return join(to(x.low), to(x.high)); \
    } \
    static inline ccml_i64x##lanes ccml_i64x##lanes##_product(ccml_i32x##lanes x, ccml_i32x##lanes y) \
    { \
        const ccml_i64x##lanes result = {product_of(low_of(x), low_of(y)), product_of(high_of(x), high_of(y))}; \
        return result; \
    }

/* What follows from the conversions of i32, u32 and u64 from and to i64. */
#define CCML_LONG_CONVERSIONS(lanes) \
    CCML_LONG_THROUGH(i64, i32, u32, lanes) \
    CCML_LONG_THROUGH(i64, i32, i16, lanes) \
    CCML_LONG_THROUGH(i64, i32, u16, lanes) \
    CCML_LONG_THROUGH(i64, i32, i8, lanes) \
    CCML_LONG_THROUGH(i64, i32, u8, lanes) \
    CCML_LONG_THROUGH(u64, i64, i32, lanes) \
    CCML_LONG_THROUGH(u64, i64, u32, lanes) \
    CCML_LONG_THROUGH(u64, i64, i16, lanes) \
    CCML_LONG_THROUGH(u64, i64, u16, lanes) \
    CCML_LONG_THROUGH(u64, i64, i8, lanes) \
    CCML_LONG_THROUGH(u64, i64, u8, lanes) \
    CCML_LONG_THROUGH(i16, i32, i64, lanes) \
    CCML_LONG_THROUGH(u16, i32, i64, lanes) \
    CCML_LONG_THROUGH(i8, i32, i64, lanes) \
    CCML_LONG_THROUGH(u8, i32, i64, lanes) \
    CCML_LONG_THROUGH(i32, i64, u64, lanes) \
    CCML_LONG_THROUGH(u32, i64, u64, lanes) \
    CCML_LONG_THROUGH(i16, i64, u64, lanes) \
    CCML_LONG_THROUGH(u16, i64, u64, lanes) \
    CCML_LONG_THROUGH(i8, i64, u64, lanes) \
    CCML_LONG_THROUGH(u8, i64, u64, lanes)
#define CCML_LONG_THROUGH(from, between, to, lanes) \
    static inline ccml_##to##x##lanes ccml_##from##x##lanes##_to_##to(ccml_##from##x##lanes x) \
    { \
        return ccml_##between##x##lanes##_to_##to(ccml_##from##x##lanes##_to_##between(x)); \
    }

#endif
