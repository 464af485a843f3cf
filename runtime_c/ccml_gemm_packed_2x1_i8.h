/* Part of the ccml runtime: one of four staged pixels by all channels, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_2X1_I8_H
#define CCML_GEMM_PACKED_2X1_I8_H

#include "ccml_gemm_packed_2x4.h"

#if CCML_ARM_DSP
#define CCML_PACKED_2X1_SETUP \
    "movw r7, #0\n" \
    "movt r7, #0x4b40\n" \
    "vmov s10, r7\n" \
    "ldr r8, [sp, #40]\n" \
    "sub r7, r7, r8\n"

#define CCML_PACKED_2X1_FINISH \
    "vldm r0!, {s8-s9}\n" \
    "vmov s0, s1, r2, r3\n" \
    CCML_PACKED_2X4_SCALE("s0", "s8", "s10") \
    CCML_PACKED_2X4_SCALE("s1", "s9", "s10") \
    "vmov r2, r3, s0, s1\n" \
    CCML_BYTE("r2", "r7", "r12") \
    CCML_BYTE("r3", "r7", "r12")

#define CCML_BLOCK_GEMM_PACKED_2X1_I8 1
CCML_NAKED ccml_gemm_packed_2x1_i8(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    CCML_PACKED_2X1(0, CCML_PACKED_2X1_SETUP, CCML_PACKED_2X1_FINISH);
}
#endif

#endif
