/* Part of the ccml runtime: what vectors of 8- and 16-bit integers have in common. Their form on a machine stands in
   ccml_narrow_x4.h, ccml_narrow_x8.h and ccml_narrow_x16.h; the meaning is that of ccml_vector.h.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_NARROW_H
#define CCML_NARROW_H

#include "ccml_vector.h"

/* A conversion by way of i32 lanes, and one function applied after another in general. */
#define CCML_NARROW_VIA(from, to, name, first, second) \
    static inline to from##_to_##name(from x) \
    { \
        return second(first(x)); \
    }

/* From and to every other type of as many lanes; i32 is what the machine, or a loop, converts. */
#define CCML_NARROW_CONVERT(name, lanes) \
    CCML_NARROW_CONVERT_OF(ccml_##name##x##lanes, name, ccml_f32x##lanes, ccml_i32x##lanes, ccml_u32x##lanes, ccml_boolx##lanes)
#define CCML_NARROW_CONVERT_OF(vector, name, floats, ints, unsigneds, mask) \
    CCML_NARROW_VIA(vector, floats, f32, vector##_to_i32, ints##_to_f32) \
    CCML_NARROW_VIA(vector, unsigneds, u32, vector##_to_i32, ints##_to_u32) \
    CCML_NARROW_VIA(vector, mask, bool, vector##_to_i32, ints##_to_bool) \
    CCML_NARROW_VIA(floats, vector, name, floats##_to_i32, ints##_to_##name) \
    CCML_NARROW_VIA(unsigneds, vector, name, unsigneds##_to_i32, ints##_to_##name) \
    CCML_NARROW_VIA(mask, vector, name, mask##_to_i32, ints##_to_##name)

#define CCML_NARROW_BOTH_WAYS(x, y, lanes) \
    CCML_NARROW_BETWEEN(ccml_##x##x##lanes, x, ccml_##y##x##lanes, y, ccml_i32x##lanes) \
    CCML_NARROW_BETWEEN(ccml_##y##x##lanes, y, ccml_##x##x##lanes, x, ccml_i32x##lanes)
#define CCML_NARROW_BETWEEN(from, from_name, to, to_name, ints) \
    CCML_NARROW_VIA(from, to, to_name, from##_to_i32, ints##_to_##to_name)

#define CCML_NARROW_CONVERSIONS(lanes) \
    CCML_NARROW_CONVERT(i8, lanes) \
    CCML_NARROW_CONVERT(u8, lanes) \
    CCML_NARROW_CONVERT(i16, lanes) \
    CCML_NARROW_CONVERT(u16, lanes) \
    CCML_NARROW_BOTH_WAYS(i8, u8, lanes) \
    CCML_NARROW_BOTH_WAYS(i8, i16, lanes) \
    CCML_NARROW_BOTH_WAYS(i8, u16, lanes) \
    CCML_NARROW_BOTH_WAYS(u8, i16, lanes) \
    CCML_NARROW_BOTH_WAYS(u8, u16, lanes) \
    CCML_NARROW_BOTH_WAYS(i16, u16, lanes)

#define CCML_PORTABLE_NARROW_OF(name, type, lanes) \
    CCML_PORTABLE_INTEGER(name, type, lanes, uint32_t) \
    CCML_PORTABLE_CONVERT(name, type, i32, int32_t, lanes, (int32_t)) \
    CCML_PORTABLE_CONVERT(i32, int32_t, name, type, lanes, (type))

#define CCML_PORTABLE_NARROW(lanes) \
    CCML_PORTABLE_NARROW_OF(i8, int8_t, lanes) \
    CCML_PORTABLE_NARROW_OF(u8, uint8_t, lanes) \
    CCML_PORTABLE_NARROW_OF(i16, int16_t, lanes) \
    CCML_PORTABLE_NARROW_OF(u16, uint16_t, lanes)

#endif
