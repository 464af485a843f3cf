/* Part of the ccml runtime: what GCC's vectors do not make of Helium (MVE): comparisons, moves of some lanes, and
   multiply-adds. Numbers of four lanes are kept in Q registers, masks as vectors of 0 and -1.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_MVE_H
#define CCML_MVE_H

#include "ccml_gnu_vector.h"

#define CCML_MVE1(vector, op, instruction) \
    static inline vector vector##_##op(vector x) \
    { \
        vector result; \
        __asm__(instruction " %q0, %q1" : "=w"(result) : "w"(x)); \
        return result; \
    }

#define CCML_MVE2(vector, op, instruction) \
    static inline vector vector##_##op(vector x, vector y) \
    { \
        __asm__(instruction " %q0, %q0, %q1" : "+w"(x) : "w"(y)); \
        return x; \
    }

/* The sum of all lanes, which takes an even register. */
#define CCML_MVE_REDUCE_ADD(vector, type, instruction) \
    static inline type vector##_reduce_add(vector x) \
    { \
        type sum; \
        __asm__(instruction " %0, %q1" : "=Te"(sum) : "w"(x)); \
        return sum; \
    }

/* A comparison of floats. Where an operand is NaN, vcmp finds ne, lt and le: the latter two are gt and ge of y and x. */
#define CCML_MVE_COMPARE(vector, mask, op, condition, operands) \
    static inline mask vector##_##op(vector x, vector y) \
    { \
        mask result; \
        const mask on = mask##_splat(1), off = mask##_splat(0); \
        __asm__("vcmp.f32 " condition ", " operands "\n\tvpsel %q0, %q3, %q4" \
                : "=w"(result) \
                : "w"(x), "w"(y), "w"(on), "w"(off) \
                : "p0"); \
        return result; \
    }

/* x where the first of the operands is greater, else y. */
#define CCML_MVE_CHOOSE(vector, op, operands) \
    static inline vector vector##_##op(vector x, vector y) \
    { \
        vector result; \
        __asm__("vcmp.f32 gt, " operands "\n\tvpsel %q0, %q1, %q2" : "=w"(result) : "w"(x), "w"(y) : "p0"); \
        return result; \
    }

#define CCML_MVE_SELECT(vector, mask) \
    static inline vector vector##_select(mask condition, vector x, vector y) \
    { \
        vector result; \
        __asm__("vcmp.i32 ne, %q1, zr\n\tvpsel %q0, %q2, %q3" : "=w"(result) : "w"(condition), "w"(x), "w"(y) : "p0"); \
        return result; \
    }

/* x * y + z with one rounding, and the same with one x for all lanes, which need not be in a vector register. They stand
   in loops whose sums fill the registers: volatile, or GCC's scheduler moves loads before them and spills. */
#define CCML_MVE_FMA(vector) \
    static inline vector vector##_fma(vector x, vector y, vector z) \
    { \
        __asm__ volatile("vfma.f32 %q0, %q1, %q2" : "+w"(z) : "w"(x), "w"(y)); \
        return z; \
    } \
    static inline vector vector##_fma_splat(float x, vector y, vector z) \
    { \
        __asm__ volatile("vfma.f32 %q0, %q1, %2" : "+w"(z) : "w"(y), "r"(x)); \
        return z; \
    }

/* Four lanes of 8 or 16 bits are kept as lanes of 32 bits with the sign or zeros above them, as the machine loads them:
   to widen them takes nothing, and all else is done with whole words. */
#define CCML_MVE_NARROW(name, type, words, word, load, store, width, extend) \
    CCML_MVE_NARROW_OF(ccml_##name##x4, name, type, words, ccml_##words##x4, word, load, store, width, extend)
#define CCML_MVE_NARROW_OF(vector, name, type, words, wide, word, load, store, width, extend) \
    typedef word vector __attribute__((vector_size(16))); \
    static inline vector vector##_splat(type x) \
    { \
        return (vector){CCML_REPEAT4(x)}; \
    } \
    static inline vector vector##_load(const type *from) \
    { \
        vector result; \
        __asm__(load width " %q0, [%1]" : "=w"(result) : "l"(from), "m"(*(const type(*)[4])from)); \
        return result; \
    } \
    static inline void vector##_store(type *to, vector x) \
    { \
        __asm__(store ".32 %q2, [%1]" : "=m"(*(type(*)[4])to) : "l"(to), "w"(x)); \
    } \
    static inline vector vector##_load_active(const type *from, ptrdiff_t active) \
    { \
        vector result; \
        __asm__("vctp.32 %1\n\tvpst\n\t" load "t" width " %q0, [%2]" \
                : "=w"(result) \
                : "r"(active), "l"(from) \
                : "p0", "memory"); \
        return result; \
    } \
    static inline void vector##_store_active(type *to, vector x, ptrdiff_t active) \
    { \
        __asm__ volatile("vctp.32 %0\n\tvpst\n\t" store "t.32 %q1, [%2]" \
                         : \
                         : "r"(active), "w"(x), "l"(to) \
                         : "p0", "memory"); \
    } \
    static inline ccml_i32x4 vector##_to_i32(vector x) \
    { \
        return (ccml_i32x4)x; \
    } \
    static inline vector ccml_i32x4_to_##name(ccml_i32x4 x) \
    { \
        __asm__(extend : "+w"(x)); \
        return (vector)x; \
    } \
    CCML_GNU2(vector, min, wide##_min((wide)x, (wide)y)) \
    CCML_GNU2(vector, max, wide##_max((wide)x, (wide)y))

/* Words clamped to what a byte holds, which are kept as they are. */
#define CCML_MVE_SATURATED(name, least, greatest) \
    static inline ccml_##name##x4 ccml_i32x4_to_##name##_saturated(ccml_i32x4 x) \
    { \
        return (ccml_##name##x4)ccml_i32x4_min( \
            ccml_i32x4_max(x, ccml_i32x4_splat(least)), ccml_i32x4_splat(greatest)); \
    }

/* Only the first lanes; those not loaded are zero. */
#define CCML_MVE_ACTIVE(vector, type) \
    static inline vector vector##_load_active(const type *from, ptrdiff_t active) \
    { \
        vector result; \
        __asm__("vctp.32 %1\n\tvpst\n\tvldrwt.u32 %q0, [%2]" : "=w"(result) : "r"(active), "r"(from) : "p0", "memory"); \
        return result; \
    } \
    static inline void vector##_store_active(type *to, vector x, ptrdiff_t active) \
    { \
        __asm__ volatile("vctp.32 %0\n\tvpst\n\tvstrwt.32 %q1, [%2]" : : "r"(active), "w"(x), "r"(to) : "p0", "memory"); \
    }

#endif
