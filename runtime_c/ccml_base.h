/* Part of the ccml runtime: what every group needs. Header-only C99, freestanding, no libc and no libm.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_BASE_H
#define CCML_BASE_H

#include <stddef.h>
#include <stdint.h>

/* The same bits everywhere needs IEEE arithmetic in the type that is written, without reassociation. */
#if defined(__FAST_MATH__)
#error "ccml: compile this file without -ffast-math (and -Ofast)"
#endif
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "ccml: float arithmetic must not be done in a wider type; on 32-bit x86 add -msse2 -mfpmath=sse"
#endif

/* a*b + c stays two roundings. GCC contracts only in its gnu modes, where the standard's pragma would be a warning. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__STRICT_ANSI__)
#pragma GCC optimize("fp-contract=off")
#endif

/* CCML_PORTABLE (define it to 1) switches every builtin and intrinsic off; the bits stay the same. */
#if (defined(__GNUC__) || defined(__clang__)) && !defined(CCML_PORTABLE)
#define CCML_GNU 1
#else
#define CCML_GNU 0
#endif

/* Attributes in GNU's spelling: GCC, clang, Arm Compiler 6 (armclang), and IAR's compilers with language extensions. */
#if CCML_GNU || defined(__ICCARM__) || defined(__ICCRISCV__)
#define CCML_ATTRIBUTES 1
#else
#define CCML_ATTRIBUTES 0
#endif

/* Code or data in a section of that name. */
#if defined(__GNUC__) || defined(__clang__) || defined(__ICCARM__) || defined(__ICCRISCV__)
#define CCML_SECTION(name) __attribute__((section(name)))
#else
#define CCML_SECTION(name)
#endif

/* A kernel that is not inlined, nor copied for constant arguments: layers that share it share its code, and what it
   keeps on the stack is not there while others run. */
#if CCML_GNU && !defined(__clang__)
#define CCML_APART __attribute__((noinline, noclone))
#elif CCML_ATTRIBUTES
#define CCML_APART __attribute__((noinline))
#else
#define CCML_APART
#endif

/* In front of a loop that is not unrolled: of few iterations of long bodies compilers make code without loops. */
#if CCML_GNU && !defined(__clang__) && __GNUC__ >= 8
#define CCML_ROLLED _Pragma("GCC unroll 1")
#else
#define CCML_ROLLED
#endif

#if CCML_ATTRIBUTES
#define CCML_ALIGN(bytes) __attribute__((aligned(bytes)))
#else
#define CCML_ALIGN(bytes)
#endif

#if CCML_GNU
#define CCML_INFINITY __builtin_inff()
#define CCML_NAN __builtin_nanf("")
#else
#define CCML_INFINITY (1.0f / 0.0f)
#define CCML_NAN (0.0f / 0.0f)
#endif

/* x86 has 32-bit lanes of 4 (SSE2), 8 (AVX) and 16 (AVX-512F), 64-bit Arm, NEON and Helium (MVE) of 4. */
#if CCML_GNU && (defined(__clang__) || __GNUC__ >= 9)
#if defined(__SSE2__)
#include <immintrin.h>
#define CCML_X86 1
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#define CCML_NEON 1
#endif
#endif
#if CCML_GNU && defined(__ARM_FEATURE_MVE) && !defined(__clang__)
#if __ARM_FEATURE_MVE == 3
#define CCML_MVE 1
#endif
#endif
#if !defined(CCML_X86)
#define CCML_X86 0
#endif
#if !defined(CCML_NEON)
#define CCML_NEON 0
#endif
#if !defined(CCML_MVE)
#define CCML_MVE 0
#endif

#endif
