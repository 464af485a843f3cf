/* Part of the ccml runtime: vectors of 8- and 16-bit integers as the low lanes of one register, a vector of GNU C. What
   lies above them is anything. What differs from machine to machine stands in ccml_narrow_x4.h and its sisters.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GNU_NARROW_H
#define CCML_GNU_NARROW_H

#include "ccml_gnu_vector.h"
#include "ccml_narrow.h"

/* The register has `all` lanes of `type` in `bytes` bytes. */
#define CCML_NARROW_TYPE(name, type, lanes, all, bytes) CCML_NARROW_TYPE_OF(ccml_##name##x##lanes, type, all, bytes)
#define CCML_NARROW_TYPE_OF(vector, type, all, bytes) \
    typedef type vector __attribute__((vector_size(bytes))); \
    static inline vector vector##_splat(type x) \
    { \
        return (vector){CCML_REPEAT##all(x)}; \
    }

#define CCML_NARROW_MOVE(name, type, lanes, reg, load, store) \
    CCML_NARROW_MOVE_OF(ccml_##name##x##lanes, type, reg, load, store)
#define CCML_NARROW_MOVE_OF(vector, type, reg, load, store) \
    static inline vector vector##_load(const type *from) \
    { \
        return (vector)load((const void *)from); \
    } \
    static inline void vector##_store(type *to, vector x) \
    { \
        store((void *)to, (reg)x); \
    }

/* ccml_<name>x<lanes>_to_i32 and back by a machine's `widen` and `narrow`. */
#define CCML_NARROW_I32(name, lanes, reg, wide, widen, narrow) \
    CCML_NARROW_I32_OF(ccml_##name##x##lanes, name, ccml_i32x##lanes, reg, wide, widen, narrow)
#define CCML_NARROW_I32_OF(vector, name, ints, reg, wide, widen, narrow) \
    static inline ints vector##_to_i32(vector x) \
    { \
        return (ints)widen((reg)x); \
    } \
    static inline vector ints##_to_##name(ints x) \
    { \
        return (vector)narrow((wide)x); \
    }

/* Minimum and maximum by a machine's functions. */
#define CCML_NARROW_MIN_MAX(name, lanes, reg, least, greatest) \
    CCML_NARROW_MIN_MAX_OF(ccml_##name##x##lanes, reg, least, greatest)
#define CCML_NARROW_MIN_MAX_OF(vector, reg, least, greatest) \
    CCML_GNU2(vector, min, least((reg)x, (reg)y)) \
    CCML_GNU2(vector, max, greatest((reg)x, (reg)y))

/* Operations that work on i32 lanes, whose low bits are the result. */
#define CCML_NARROW1(vector, name, ints, op) \
    CCML_GNU1(vector, op, ints##_to_##name(ints##_##op(vector##_to_i32(x))))
#define CCML_NARROW2(vector, name, ints, op) \
    CCML_GNU2(vector, op, ints##_to_##name(ints##_##op(vector##_to_i32(x), vector##_to_i32(y))))
#define CCML_NARROW_COMPARE(vector, mask, ints, op) \
    CCML_GNU_COMPARE(vector, mask, op, ints##_##op(vector##_to_i32(x), vector##_to_i32(y)))
#define CCML_NARROW_REDUCE(vector, type, ints, op) \
    static inline type vector##_reduce_##op(vector x) \
    { \
        return (type)ints##_reduce_##op(vector##_to_i32(x)); \
    }

/* What every type has; the vector `wide` is its unsigned counterpart. */
#define CCML_NARROW_NUMBERS(name, type, lanes, unsigneds) \
    CCML_NARROW_NUMBERS_OF(ccml_##name##x##lanes, name, type, ccml_##unsigneds##x##lanes, ccml_i32x##lanes, ccml_boolx##lanes)
#define CCML_NARROW_NUMBERS_OF(vector, name, type, wide, ints, mask) \
    CCML_GNU2(vector, add, (wide)x + (wide)y) \
    CCML_GNU2(vector, sub, (wide)x - (wide)y) \
    CCML_GNU2(vector, and, x & y) \
    CCML_GNU2(vector, or, x | y) \
    CCML_GNU2(vector, xor, x ^ y) \
    CCML_GNU1(vector, not, ~x) \
    CCML_NARROW1(vector, name, ints, neg) \
    CCML_NARROW1(vector, name, ints, abs) \
    CCML_NARROW2(vector, name, ints, mul) \
    CCML_NARROW2(vector, name, ints, div) \
    CCML_NARROW2(vector, name, ints, mod) \
    CCML_NARROW2(vector, name, ints, shl) \
    CCML_NARROW2(vector, name, ints, shr) \
    CCML_NARROW_COMPARE(vector, mask, ints, eq) \
    CCML_NARROW_COMPARE(vector, mask, ints, ne) \
    CCML_NARROW_COMPARE(vector, mask, ints, lt) \
    CCML_NARROW_COMPARE(vector, mask, ints, le) \
    CCML_NARROW_COMPARE(vector, mask, ints, gt) \
    CCML_NARROW_COMPARE(vector, mask, ints, ge) \
    CCML_NARROW_REDUCE(vector, type, ints, add) \
    CCML_NARROW_REDUCE(vector, type, ints, mul) \
    CCML_NARROW_REDUCE(vector, type, ints, min) \
    CCML_NARROW_REDUCE(vector, type, ints, max) \
    static inline vector vector##_select(mask condition, vector x, vector y) \
    { \
        return ints##_to_##name(ints##_select(condition, vector##_to_i32(x), vector##_to_i32(y))); \
    }

#define CCML_NARROW_ALL(lanes) \
    CCML_NARROW_NUMBERS(i8, int8_t, lanes, u8) \
    CCML_NARROW_NUMBERS(u8, uint8_t, lanes, u8) \
    CCML_NARROW_NUMBERS(i16, int16_t, lanes, u16) \
    CCML_NARROW_NUMBERS(u16, uint16_t, lanes, u16)

/* Some bytes from and to memory by way of words, where the machine has no masked moves of bytes. */
static inline uint64_t ccml_narrow_word(const uint8_t *from, ptrdiff_t bytes)
{
    uint64_t word = 0;
    for (int i = 0; i < 8 && i < bytes; ++i) {
        word |= (uint64_t)from[i] << (8 * i);
    }
    return word;
}

static inline void ccml_narrow_store_word(uint8_t *to, uint64_t word, ptrdiff_t bytes)
{
    for (int i = 0; i < 8 && i < bytes; ++i) {
        to[i] = (uint8_t)(word >> (8 * i));
    }
}

#endif
