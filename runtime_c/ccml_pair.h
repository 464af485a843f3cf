/* Part of the ccml runtime: vectors of eight 32-bit lanes as pairs of four, for machines whose registers have four. (A
   vector of GNU C that is wider than a register would be kept in memory.) The meaning is that of ccml_vector.h.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_PAIR_H
#define CCML_PAIR_H

#include "ccml_x4.h"

/* Every function is that of both halves. */
#define CCML_PAIR1(vector, half, op) CCML_PAIR1_TO(vector, half, op, vector)
#define CCML_PAIR1_TO(vector, half, op, to) \
    static inline to vector##_##op(vector x) \
    { \
        const to result = {half##_##op(x.low), half##_##op(x.high)}; \
        return result; \
    }

#define CCML_PAIR2(vector, half, op) CCML_PAIR2_TO(vector, half, op, vector)
#define CCML_PAIR2_TO(vector, half, op, to) \
    static inline to vector##_##op(vector x, vector y) \
    { \
        const to result = {half##_##op(x.low, y.low), half##_##op(x.high, y.high)}; \
        return result; \
    }

#define CCML_PAIR3(vector, half, op) \
    static inline vector vector##_##op(vector x, vector y, vector z) \
    { \
        const vector result = {half##_##op(x.low, y.low, z.low), half##_##op(x.high, y.high, z.high)}; \
        return result; \
    }

#define CCML_PAIR_SELECT(vector, half, mask) \
    static inline vector vector##_select(mask condition, vector x, vector y) \
    { \
        const vector result = {half##_select(condition.low, x.low, y.low), \
                               half##_select(condition.high, x.high, y.high)}; \
        return result; \
    }

#define CCML_PAIR_REDUCE(vector, half, type, op) \
    static inline type vector##_reduce_##op(vector x) \
    { \
        return half##_reduce_##op(half##_##op(x.low, x.high)); \
    }

#define CCML_PAIR_MOVE(vector, half, type) \
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
    static inline vector vector##_load(const type *from) \
    { \
        const vector result = {half##_load(from), half##_load(from + 4)}; \
        return result; \
    } \
    static inline vector vector##_load_active(const type *from, ptrdiff_t active) \
    { \
        const vector result = {half##_load_active(from, active < 4 ? active : 4), \
                               active > 4 ? half##_load_active(from + 4, active - 4) : half##_splat(0)}; \
        return result; \
    } \
    static inline void vector##_store(type *to, vector x) \
    { \
        half##_store(to, x.low); \
        half##_store(to + 4, x.high); \
    } \
    static inline void vector##_store_active(type *to, vector x, ptrdiff_t active) \
    { \
        half##_store_active(to, x.low, active < 4 ? active : 4); \
        if (active > 4) { \
            half##_store_active(to + 4, x.high, active - 4); \
        } \
    }

#define CCML_PAIR_NUMBER(vector, half, type, mask) \
    CCML_PAIR_MOVE(vector, half, type) \
    static inline type vector##_lane(vector x, int number) \
    { \
        return number < 4 ? half##_lane(x.low, number) : half##_lane(x.high, number - 4); \
    } \
    CCML_PAIR2_TO(vector, half, eq, mask) \
    CCML_PAIR2_TO(vector, half, ne, mask) \
    CCML_PAIR2_TO(vector, half, lt, mask) \
    CCML_PAIR2_TO(vector, half, le, mask) \
    CCML_PAIR2_TO(vector, half, gt, mask) \
    CCML_PAIR2_TO(vector, half, ge, mask) \
    CCML_PAIR1_TO(vector, half, to_bool, mask) \
    CCML_PAIR_SELECT(vector, half, mask) \
    CCML_PAIR2(vector, half, min) \
    CCML_PAIR2(vector, half, max) \
    CCML_PAIR2(vector, half, add) \
    CCML_PAIR2(vector, half, sub) \
    CCML_PAIR2(vector, half, mul) \
    CCML_PAIR2(vector, half, div) \
    CCML_PAIR1(vector, half, neg) \
    CCML_PAIR1(vector, half, abs) \
    CCML_PAIR_REDUCE(vector, half, type, add) \
    CCML_PAIR_REDUCE(vector, half, type, mul) \
    CCML_PAIR_REDUCE(vector, half, type, min) \
    CCML_PAIR_REDUCE(vector, half, type, max)

#define CCML_PAIR_FLOAT(vector, half, type, mask) \
    CCML_PAIR_NUMBER(vector, half, type, mask) \
    CCML_PAIR1(vector, half, sqrt) \
    CCML_PAIR1(vector, half, floor) \
    CCML_PAIR1(vector, half, ceil) \
    CCML_PAIR1(vector, half, trunc) \
    CCML_PAIR1(vector, half, round_even) \
    CCML_PAIR3(vector, half, fma)

#define CCML_PAIR_INTEGER(vector, half, type, mask) \
    CCML_PAIR_NUMBER(vector, half, type, mask) \
    CCML_PAIR2(vector, half, mod) \
    CCML_PAIR2(vector, half, and) \
    CCML_PAIR2(vector, half, or) \
    CCML_PAIR2(vector, half, xor) \
    CCML_PAIR2(vector, half, shl) \
    CCML_PAIR2(vector, half, shr) \
    CCML_PAIR1(vector, half, not)

#define CCML_PAIR_BOOL(mask, half) \
    CCML_PAIR_MOVE(mask, half, uint8_t) \
    CCML_PAIR2(mask, half, and) \
    CCML_PAIR2(mask, half, or) \
    CCML_PAIR2(mask, half, xor) \
    CCML_PAIR1(mask, half, not) \
    CCML_PAIR_SELECT(mask, half, mask)

#define CCML_PAIR_BITCAST(from, to) \
    static inline ccml_##to##x8 ccml_##from##x8_as_##to##x8(ccml_##from##x8 x) \
    { \
        const ccml_##to##x8 result = {ccml_##from##x4_as_##to##x4(x.low), ccml_##from##x4_as_##to##x4(x.high)}; \
        return result; \
    }

#endif
