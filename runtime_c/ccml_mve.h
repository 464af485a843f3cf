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
