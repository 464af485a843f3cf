/* Part of the ccml runtime: what vectors of 8- and 16-bit integers have in common. Their form on a machine stands in
   ccml_narrow4.h, ccml_narrow8.h and ccml_narrow16.h; the meaning is that of ccml_vector.h.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_NARROW_H
#define CCML_NARROW_H

#include "ccml_gnu_vector.h"

/* As arrays and loops. */
#define CCML_PORTABLE_NARROWS(lanes) \
    CCML_PORTABLE_NARROW(i8, int8_t, lanes) \
    CCML_PORTABLE_NARROW(u8, uint8_t, lanes) \
    CCML_PORTABLE_NARROW(i16, int16_t, lanes) \
    CCML_PORTABLE_NARROW(u16, uint16_t, lanes)
#define CCML_PORTABLE_NARROW(name, type, lanes) \
    CCML_PORTABLE_INTEGER(name, type, lanes, uint32_t) \
    CCML_PORTABLE_CONVERT(name, type, i32, int32_t, lanes, (int32_t)) \
    CCML_PORTABLE_CONVERT(i32, int32_t, name, type, lanes, (type))

/* As the low lanes of a register, a vector of GNU C; what lies above them is anything. First its type: the register has
   `all` lanes in `bytes` bytes. */
#define CCML_NARROW_TYPE(name, type, lanes, all, bytes) CCML_NARROW_TYPE_OF(ccml_##name##x##lanes, type, all, bytes)
#define CCML_NARROW_TYPE_OF(vector, type, all, bytes) \
    typedef type vector __attribute__((vector_size(bytes))); \
    static inline vector vector##_splat(type x) \
    { \
        return (vector){CCML_REPEAT##all(x)}; \
    } \
    static inline type vector##_lane(vector x, int number) \
    { \
        return x[number]; \
    }

/* Then by a machine's functions on registers: moves, */
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

/* moves of the first lanes, where `bits` is the machine's type of masks, */
#define CCML_NARROW_MASKED(name, type, lanes, reg, bits, load, store) \
    CCML_NARROW_MASKED_OF(ccml_##name##x##lanes, type, reg, bits, load, store)
#define CCML_NARROW_MASKED_OF(vector, type, reg, bits, load, store) \
    static inline vector vector##_load_active(const type *from, ptrdiff_t active) \
    { \
        return (vector)load((bits)(((uint32_t)1 << active) - 1u), from); \
    } \
    static inline void vector##_store_active(type *to, vector x, ptrdiff_t active) \
    { \
        store(to, (bits)(((uint32_t)1 << active) - 1u), (reg)x); \
    }

/* conversions to and from i32, */
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

/* minimum and maximum. */
#define CCML_NARROW_MIN_MAX(name, lanes, reg, least, greatest) \
    CCML_NARROW_MIN_MAX_OF(ccml_##name##x##lanes, reg, least, greatest)
#define CCML_NARROW_MIN_MAX_OF(vector, reg, least, greatest) \
    CCML_GNU2(vector, min, least((reg)x, (reg)y)) \
    CCML_GNU2(vector, max, greatest((reg)x, (reg)y))

#if CCML_X86 || CCML_NEON

/* Moves of up to eight bytes as a word. The binary digits of their number say which parts there are. */
static inline uint64_t ccml_narrow_load_word(const uint8_t *from, ptrdiff_t bytes)
{
    uint64_t all;
    uint32_t four = 0;
    uint16_t two = 0;
    if (bytes & 8) {
        __builtin_memcpy(&all, from, 8);
        return all;
    }
    if (bytes & 4) {
        __builtin_memcpy(&four, from, 4);
    }
    if (bytes & 2) {
        __builtin_memcpy(&two, from + (bytes & 4), 2);
    }
    all = four | (uint64_t)two << 8 * (bytes & 4);
    return bytes & 1 ? all | (uint64_t)from[bytes & 6] << 8 * (bytes & 6) : all;
}

static inline void ccml_narrow_store_word(uint8_t *to, uint64_t all, ptrdiff_t bytes)
{
    const uint32_t four = (uint32_t)all;
    const uint16_t two = (uint16_t)(all >> 8 * (bytes & 4));
    if (bytes & 8) {
        __builtin_memcpy(to, &all, 8);
    }
    if (bytes & 4) {
        __builtin_memcpy(to, &four, 4);
    }
    if (bytes & 2) {
        __builtin_memcpy(to + (bytes & 4), &two, 2);
    }
    if (bytes & 1) {
        to[bytes & 6] = (uint8_t)(all >> 8 * (bytes & 6));
    }
}

/* A word at the low end of a register, to move the first lanes. It should have the size of all lanes: then to read them
   as one integer gives it back for nothing. */
#define CCML_NARROW_REGISTER __attribute__((vector_size(CCML_NEON ? 8 : 16)))
typedef uint32_t ccml_narrow_uint32 CCML_NARROW_REGISTER;
typedef uint64_t ccml_narrow_uint64 CCML_NARROW_REGISTER;

#endif

#define CCML_NARROW_ACTIVE(name, type, lanes, word) CCML_NARROW_ACTIVE_OF(ccml_##name##x##lanes, type, word)
#define CCML_NARROW_ACTIVE_OF(vector, type, word) \
    static inline vector vector##_load_active(const type *from, ptrdiff_t active) \
    { \
        const uint64_t all = ccml_narrow_load_word((const void *)from, active * (ptrdiff_t)sizeof(type)); \
        return (vector)(ccml_narrow_##word){(word##_t)all}; \
    } \
    static inline void vector##_store_active(type *to, vector x, ptrdiff_t active) \
    { \
        ccml_narrow_store_word((void *)to, ((ccml_narrow_##word)x)[0], active * (ptrdiff_t)sizeof(type)); \
    }

/* All else is done with whole registers, or with lanes of i32, whose low bits are the result. */
#define CCML_NARROW1(vector, name, ints, op) \
    CCML_GNU1(vector, op, ints##_to_##name(ints##_##op(vector##_to_i32(x))))
#define CCML_NARROW2(vector, name, ints, op) \
    CCML_GNU2(vector, op, ints##_to_##name(ints##_##op(vector##_to_i32(x), vector##_to_i32(y))))
#define CCML_NARROW_COMPARE(vector, mask, ints, op) \
    static inline mask vector##_##op(vector x, vector y) \
    { \
        return ints##_##op(vector##_to_i32(x), vector##_to_i32(y)); \
    }
#define CCML_NARROW_REDUCE(vector, type, ints, op) \
    static inline type vector##_reduce_##op(vector x) \
    { \
        return (type)ints##_reduce_##op(vector##_to_i32(x)); \
    }

/* `unsigneds` names the unsigned type as wide as `name`. */
#define CCML_NARROW_NUMBERS(name, type, lanes, unsigneds) \
    CCML_NARROW_NUMBERS_OF( \
        ccml_##name##x##lanes, name, type, ccml_##unsigneds##x##lanes, ccml_i32x##lanes, ccml_boolx##lanes)
#define CCML_NARROW_NUMBERS_OF(vector, name, type, wide, ints, mask) \
    CCML_GNU2(vector, add, (wide)x + (wide)y) \
    CCML_GNU2(vector, sub, (wide)x - (wide)y) \
    CCML_GNU2(vector, mul, (wide)x * (wide)y) \
    CCML_GNU2(vector, and, x & y) \
    CCML_GNU2(vector, or, x | y) \
    CCML_GNU2(vector, xor, x ^ y) \
    CCML_GNU1(vector, not, ~x) \
    CCML_NARROW_THROUGH_WORDS(vector, name, type, ints, mask)
#define CCML_NARROW_THROUGH_WORDS(vector, name, type, ints, mask) \
    CCML_NARROW1(vector, name, ints, neg) \
    CCML_NARROW1(vector, name, ints, abs) \
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

/* Where lanes are kept as words, all of it is done with these. */
#define CCML_NARROW_IN_WORDS(name, type, lanes) \
    CCML_NARROW_IN_WORDS_OF(ccml_##name##x##lanes, name, type, ccml_i32x##lanes, ccml_boolx##lanes)
#define CCML_NARROW_IN_WORDS_OF(vector, name, type, ints, mask) \
    CCML_NARROW2(vector, name, ints, add) \
    CCML_NARROW2(vector, name, ints, sub) \
    CCML_NARROW2(vector, name, ints, mul) \
    CCML_NARROW2(vector, name, ints, and) \
    CCML_NARROW2(vector, name, ints, or) \
    CCML_NARROW2(vector, name, ints, xor) \
    CCML_NARROW1(vector, name, ints, not) \
    CCML_NARROW_THROUGH_WORDS(vector, name, type, ints, mask)
#define CCML_NARROW_WORDS(lanes) \
    CCML_NARROW_IN_WORDS(i8, int8_t, lanes) \
    CCML_NARROW_IN_WORDS(u8, uint8_t, lanes) \
    CCML_NARROW_IN_WORDS(i16, int16_t, lanes) \
    CCML_NARROW_IN_WORDS(u16, uint16_t, lanes)

/* Every other conversion can go through i32, which holds all values of both sides. */
#define CCML_NARROW_VIA_I32(from, to, lanes) \
    static inline ccml_##to##x##lanes ccml_##from##x##lanes##_to_##to(ccml_##from##x##lanes x) \
    { \
        return ccml_i32x##lanes##_to_##to(ccml_##from##x##lanes##_to_i32(x)); \
    }
#define CCML_NARROW_BETWEEN(one, other, lanes) \
    CCML_NARROW_VIA_I32(one, other, lanes) \
    CCML_NARROW_VIA_I32(other, one, lanes)
#define CCML_NARROW_AND_WORDS(name, lanes) \
    CCML_NARROW_BETWEEN(name, f32, lanes) \
    CCML_NARROW_BETWEEN(name, u32, lanes) \
    CCML_NARROW_BETWEEN(name, bool, lanes)

/* Words clamped to what a byte holds, as words or by a machine's function of registers. */
#define CCML_NARROW_SATURATED(lanes) \
    CCML_NARROW_SATURATED_TO(i8, lanes, -128, 127) \
    CCML_NARROW_SATURATED_TO(u8, lanes, 0, 255)
#define CCML_NARROW_SATURATED_TO(name, lanes, least, greatest) \
    static inline ccml_##name##x##lanes ccml_i32x##lanes##_to_##name##_saturated(ccml_i32x##lanes x) \
    { \
        return ccml_i32x##lanes##_to_##name(ccml_i32x##lanes##_min( \
            ccml_i32x##lanes##_max(x, ccml_i32x##lanes##_splat(least)), ccml_i32x##lanes##_splat(greatest))); \
    }
#define CCML_NARROW_PACKED(name, lanes, wide, pack) \
    static inline ccml_##name##x##lanes ccml_i32x##lanes##_to_##name##_saturated(ccml_i32x##lanes x) \
    { \
        return (ccml_##name##x##lanes)pack((wide)x); \
    }

#define CCML_NARROW_CONVERSIONS(lanes) \
    CCML_NARROW_AND_WORDS(i8, lanes) \
    CCML_NARROW_AND_WORDS(u8, lanes) \
    CCML_NARROW_AND_WORDS(i16, lanes) \
    CCML_NARROW_AND_WORDS(u16, lanes)

#define CCML_NARROW_AMONG(lanes) \
    CCML_NARROW_BETWEEN(i8, u8, lanes) \
    CCML_NARROW_BETWEEN(i8, i16, lanes) \
    CCML_NARROW_BETWEEN(i8, u16, lanes) \
    CCML_NARROW_BETWEEN(u8, i16, lanes) \
    CCML_NARROW_BETWEEN(u8, u16, lanes) \
    CCML_NARROW_BETWEEN(i16, u16, lanes)

/* A machine's own conversion of x. */
#define CCML_NARROW_CONVERT(from, to, lanes, expr) \
    static inline ccml_##to##x##lanes ccml_##from##x##lanes##_to_##to(ccml_##from##x##lanes x) \
    { \
        return (ccml_##to##x##lanes)(expr); \
    }

/* By NEON: an instruction widens eight bytes, another one narrows eight halfwords. `lower` takes the lanes of a vector
   of eight halfwords, `halves` makes one of them. */
#define CCML_NEON_AMONG(lanes, lower, halves) \
    CCML_NARROW_CONVERT(i8, u8, lanes, x) \
    CCML_NARROW_CONVERT(u8, i8, lanes, x) \
    CCML_NARROW_CONVERT(i16, u16, lanes, x) \
    CCML_NARROW_CONVERT(u16, i16, lanes, x) \
    CCML_NARROW_CONVERT(i8, i16, lanes, lower(vmovl_s8((int8x8_t)x))) \
    CCML_NARROW_CONVERT(i8, u16, lanes, lower(vmovl_s8((int8x8_t)x))) \
    CCML_NARROW_CONVERT(u8, i16, lanes, lower((int16x8_t)vmovl_u8((uint8x8_t)x))) \
    CCML_NARROW_CONVERT(u8, u16, lanes, lower((int16x8_t)vmovl_u8((uint8x8_t)x))) \
    CCML_NARROW_CONVERT(i16, i8, lanes, vmovn_s16(halves((int16x##lanes##_t)x))) \
    CCML_NARROW_CONVERT(i16, u8, lanes, vmovn_s16(halves((int16x##lanes##_t)x))) \
    CCML_NARROW_CONVERT(u16, i8, lanes, vmovn_s16(halves((int16x##lanes##_t)x))) \
    CCML_NARROW_CONVERT(u16, u8, lanes, vmovn_s16(halves((int16x##lanes##_t)x)))

#endif
