/* Part of the ccml runtime: min, max and abs of the fixed-width integers.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_INTEGER_H
#define CCML_INTEGER_H

#include "ccml_base.h"

#define CCML_INTEGER(name, type) \
    static inline type ccml_##name##_min(type x, type y) \
    { \
        return x < y ? x : y; \
    } \
    static inline type ccml_##name##_max(type x, type y) \
    { \
        return x > y ? x : y; \
    }

/* The absolute value of the least number is itself: the negation wraps around in `wide`. */
#define CCML_SIGNED(name, type, wide) \
    CCML_INTEGER(name, type) \
    static inline type ccml_##name##_abs(type x) \
    { \
        return x < 0 ? (type)((wide)0 - (wide)x) : x; \
    }

CCML_SIGNED(i8, int8_t, uint32_t)
CCML_SIGNED(i16, int16_t, uint32_t)
CCML_SIGNED(i32, int32_t, uint32_t)
CCML_SIGNED(i64, int64_t, uint64_t)
CCML_INTEGER(u8, uint8_t)
CCML_INTEGER(u16, uint16_t)
CCML_INTEGER(u32, uint32_t)
CCML_INTEGER(u64, uint64_t)

#undef CCML_SIGNED
#undef CCML_INTEGER

#endif
