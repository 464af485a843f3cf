/* Part of the ccml runtime: two staged pixels by all channels, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_3X2_I8_H
#define CCML_GEMM_3X2_I8_H

#include "ccml_gemm_3x2.h"

#if CCML_ARM_DSP
#define CCML_GEMM_3X2_I8_SETUP \
    "ldr r6, [sp, #108]\n" CCML_ROUNDERS

#define CCML_GEMM_3X2_I8_THREE \
    "vldm sp, {s0-s5}\n" \
    "vldm r0!, {s6-s8}\n" \
    "vmov s10, s11, r4, r5\n" \
    "vmov s12, s13, r6, r7\n" \
    "vmov s14, s15, r8, r9\n" \
    CCML_SCALE("s0", "s10", "s6") \
    CCML_SCALE("s1", "s11", "s6") \
    CCML_SCALE("s2", "s12", "s7") \
    CCML_SCALE("s3", "s13", "s7") \
    CCML_SCALE("s4", "s14", "s8") \
    CCML_SCALE("s5", "s15", "s8") \
    "ldr r2, [sp, #24]\n" \
    "vmov r4, r5, s0, s1\n" \
    "vmov r6, r7, s2, s3\n" \
    "vmov r8, r9, s4, s5\n" \
    CCML_BYTE("r4", "r2", "r10") \
    CCML_BYTE("r6", "r2", "r10") \
    CCML_BYTE("r8", "r2", "r10") \
    CCML_BYTE("r5", "r2", "r11") \
    CCML_BYTE("r7", "r2", "r11") \
    CCML_BYTE("r9", "r2", "r11")

#define CCML_GEMM_3X2_I8_ONE \
    "vldm sp, {s0-s1}\n" \
    "vldm r0!, {s6}\n" \
    "vmov s10, s11, r4, r5\n" \
    CCML_SCALE("s0", "s10", "s6") \
    CCML_SCALE("s1", "s11", "s6") \
    "ldr r2, [sp, #24]\n" \
    "vmov r4, r5, s0, s1\n" \
    CCML_BYTE("r4", "r2", "r10") \
    CCML_BYTE("r5", "r2", "r11")

#define CCML_BLOCK_GEMM_3X2_I8 1
CCML_NAKED ccml_gemm_3x2_i8(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    CCML_GEMM_3X2(
        0, CCML_GEMM_3X2_I8_SETUP, CCML_GEMM_3X2_BEGIN, CCML_GEMM_3X2_BEGIN_ONE, CCML_GEMM_3X2_I8_THREE,
        CCML_GEMM_3X2_I8_ONE);
}
#endif

#endif
