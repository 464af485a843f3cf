/* Part of the ccml runtime: one pixel by all channels, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_8X1_I8_H
#define CCML_GEMM_8X1_I8_H

#include "ccml_gemm_8x1.h"

#if CCML_ARM_DSP
#define CCML_GEMM_8X1_I8_SETUP \
    "ldr r6, [sp, #96]\n" CCML_ROUNDERS

#define CCML_GEMM_8X1_I8_FOUR(a, b, c, d) \
    "vldm sp, {s0-s3}\n" \
    "vldm r0!, {s4-s7}\n" \
    "vmov s8, s9, " a ", " b "\n" \
    "vmov s10, s11, " c ", " d "\n" \
    CCML_SCALE("s0", "s8", "s4") \
    CCML_SCALE("s1", "s9", "s5") \
    CCML_SCALE("s2", "s10", "s6") \
    CCML_SCALE("s3", "s11", "s7") \
    "ldr r2, [sp, #24]\n" \
    "vmov " a ", " b ", s0, s1\n" \
    "vmov " c ", " d ", s2, s3\n" \
    CCML_BYTE(a, "r2", "r11") \
    CCML_BYTE(b, "r2", "r11") \
    CCML_BYTE(c, "r2", "r11") \
    CCML_BYTE(d, "r2", "r11")

#define CCML_GEMM_8X1_I8_ONE(a) \
    "vldm sp, {s0}\n" \
    "vldm r0!, {s4}\n" \
    "vmov s8, " a "\n" \
    CCML_SCALE("s0", "s8", "s4") \
    "ldr r2, [sp, #24]\n" \
    "vmov " a ", s0\n" \
    CCML_BYTE(a, "r2", "r11")

#define CCML_BLOCK_GEMM_8X1_I8 1
CCML_NAKED ccml_gemm_8x1_i8(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    CCML_GEMM_8X1(CCML_GEMM_8X1_I8_SETUP, CCML_GEMM_8X1_I8_FOUR, CCML_GEMM_8X1_I8_ONE);
}
#endif

#endif
