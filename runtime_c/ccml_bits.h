/* Part of the ccml runtime: the bits of floating-point numbers.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_BITS_H
#define CCML_BITS_H

#include "ccml_base.h"

/* The value of type `from` read as type `to`, of the same size. */
#define CCML_BITS(from_name, from, to_name, to) \
    static inline to ccml_##from_name##_as_##to_name(from x) \
    { \
        union { \
            from in; \
            to out; \
        } both; \
        both.in = x; \
        return both.out; \
    }

CCML_BITS(f32, float, u32, uint32_t)
CCML_BITS(f32, float, i32, int32_t)
CCML_BITS(u32, uint32_t, f32, float)
CCML_BITS(i32, int32_t, f32, float)
CCML_BITS(f64, double, u64, uint64_t)
CCML_BITS(f64, double, i64, int64_t)
CCML_BITS(u64, uint64_t, f64, double)
CCML_BITS(i64, int64_t, f64, double)

#undef CCML_BITS

#endif
