/* Part of the ccml runtime: scalar float and double functions, as one machine instruction where there is one and by
   ccml_soft_float.h, with the same bits, elsewhere. Nothing here calls libm.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_FLOAT_H
#define CCML_FLOAT_H

#include "ccml_soft_float.h"

/* Which operations are instructions. Armv7E-M cores with a double-precision FPU have FPv5, like all of Armv8. */
#if CCML_X86 || (CCML_GNU && defined(__aarch64__))
#define CCML_SQRT_F32 1
#define CCML_SQRT_F64 1
#elif CCML_GNU && defined(__ARM_FP)
#define CCML_SQRT_F32 (__ARM_FP & 4)
#define CCML_SQRT_F64 (__ARM_FP & 8)
#else
#define CCML_SQRT_F32 0
#define CCML_SQRT_F64 0
#endif

#if CCML_GNU && (defined(__FMA__) || defined(__aarch64__))
#define CCML_FMA_F32 1
#define CCML_FMA_F64 1
#elif CCML_GNU && defined(__ARM_FEATURE_FMA) && defined(__ARM_FP)
#define CCML_FMA_F32 (__ARM_FP & 4)
#define CCML_FMA_F64 (__ARM_FP & 8)
#else
#define CCML_FMA_F32 0
#define CCML_FMA_F64 0
#endif

#if CCML_GNU && (defined(__SSE4_1__) || defined(__aarch64__))
#define CCML_ROUND_F32 1
#define CCML_ROUND_F64 1
#elif CCML_GNU && defined(__ARM_FP) && (__ARM_ARCH >= 8 || (defined(__ARM_ARCH_7EM__) && (__ARM_FP & 8)))
#define CCML_ROUND_F32 (__ARM_FP & 4)
#define CCML_ROUND_F64 (__ARM_FP & 8)
#else
#define CCML_ROUND_F32 0
#define CCML_ROUND_F64 0
#endif

/* Where math functions may set errno, compilers add calls of libm to these builtins. */
#if defined(__NO_MATH_ERRNO__)
#define CCML_NO_ERRNO 1
#else
#define CCML_NO_ERRNO 0
#endif

static inline float ccml_f32_sqrt(float x)
{
#if CCML_SQRT_F32 && CCML_NO_ERRNO
    return __builtin_sqrtf(x);
#elif CCML_SQRT_F32 && CCML_X86
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
#elif CCML_SQRT_F32 && defined(__aarch64__)
    float root;
    __asm__("fsqrt %s0, %s1" : "=w"(root) : "w"(x));
    return root;
#elif CCML_SQRT_F32
    float root;
    __asm__("vsqrt.f32 %0, %1" : "=t"(root) : "t"(x));
    return root;
#else
    return ccml_soft_f32_sqrt(x);
#endif
}

static inline double ccml_f64_sqrt(double x)
{
#if CCML_SQRT_F64 && CCML_NO_ERRNO
    return __builtin_sqrt(x);
#elif CCML_SQRT_F64 && CCML_X86
    const __m128d value = _mm_set_sd(x);
    return _mm_cvtsd_f64(_mm_sqrt_sd(value, value));
#elif CCML_SQRT_F64 && defined(__aarch64__)
    double root;
    __asm__("fsqrt %d0, %d1" : "=w"(root) : "w"(x));
    return root;
#elif CCML_SQRT_F64
    double root;
    __asm__("vsqrt.f64 %P0, %P1" : "=w"(root) : "w"(x));
    return root;
#else
    return ccml_soft_f64_sqrt(x);
#endif
}

/* x * y + z with one rounding. Clang for bare-metal Arm takes fma for a function that sets errno. */
static inline float ccml_f32_fma(float x, float y, float z)
{
#if CCML_FMA_F32 && defined(__clang__) && defined(__arm__) && !CCML_NO_ERRNO
    __asm__("vfma.f32 %0, %1, %2" : "+t"(z) : "t"(x), "t"(y));
    return z;
#elif CCML_FMA_F32
    return __builtin_fmaf(x, y, z);
#else
    return ccml_soft_f32_fma(x, y, z);
#endif
}

static inline double ccml_f64_fma(double x, double y, double z)
{
#if CCML_FMA_F64 && defined(__clang__) && defined(__arm__) && !CCML_NO_ERRNO
    __asm__("vfma.f64 %P0, %P1, %P2" : "+w"(z) : "w"(x), "w"(y));
    return z;
#elif CCML_FMA_F64
    return __builtin_fma(x, y, z);
#else
    return ccml_soft_f64_fma(x, y, z);
#endif
}

/* One function of floor, ceil, trunc and round_even; rint rounds to nearest even in the default rounding mode. */
#define CCML_ROUNDING(name, type, op, body) \
    static inline type ccml_##name##_##op(type x) \
    { \
        return body(x); \
    }

#if CCML_ROUND_F32
CCML_ROUNDING(f32, float, floor, __builtin_floorf)
CCML_ROUNDING(f32, float, ceil, __builtin_ceilf)
CCML_ROUNDING(f32, float, trunc, __builtin_truncf)
CCML_ROUNDING(f32, float, round_even, __builtin_rintf)
#else
CCML_ROUNDING(f32, float, floor, ccml_soft_f32_floor)
CCML_ROUNDING(f32, float, ceil, ccml_soft_f32_ceil)
CCML_ROUNDING(f32, float, trunc, ccml_soft_f32_trunc)
CCML_ROUNDING(f32, float, round_even, ccml_soft_f32_round_even)
#endif

#if CCML_ROUND_F64
CCML_ROUNDING(f64, double, floor, __builtin_floor)
CCML_ROUNDING(f64, double, ceil, __builtin_ceil)
CCML_ROUNDING(f64, double, trunc, __builtin_trunc)
CCML_ROUNDING(f64, double, round_even, __builtin_rint)
#else
CCML_ROUNDING(f64, double, floor, ccml_soft_f64_floor)
CCML_ROUNDING(f64, double, ceil, ccml_soft_f64_ceil)
CCML_ROUNDING(f64, double, trunc, ccml_soft_f64_trunc)
CCML_ROUNDING(f64, double, round_even, ccml_soft_f64_round_even)
#endif

#undef CCML_ROUNDING

/* Where an operand is NaN, the second is the result. */
#define CCML_MIN_MAX(name, type) \
    static inline type ccml_##name##_min(type x, type y) \
    { \
        return x < y ? x : y; \
    } \
    static inline type ccml_##name##_max(type x, type y) \
    { \
        return x > y ? x : y; \
    }

CCML_MIN_MAX(f32, float)
CCML_MIN_MAX(f64, double)

#undef CCML_MIN_MAX

static inline float ccml_f32_abs(float x)
{
#if CCML_GNU
    return __builtin_fabsf(x);
#else
    return ccml_u32_as_f32(ccml_f32_as_u32(x) & 0x7fffffffu);
#endif
}

static inline double ccml_f64_abs(double x)
{
#if CCML_GNU
    return __builtin_fabs(x);
#else
    return ccml_u64_as_f64(ccml_f64_as_u64(x) & ((uint64_t)-1 >> 1));
#endif
}

#endif
