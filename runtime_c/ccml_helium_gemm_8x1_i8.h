/* Part of the ccml runtime: one pixel by all channels, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_8X1_I8_H
#define CCML_HELIUM_GEMM_8X1_I8_H

#include "ccml_helium_gemm_8x1.h"

#if CCML_HELIUM
#define CCML_HELIUM_8X1_I8_SETUP \
    "ldrd r6, r7, [sp, #80]\n" \
    "vdup.16 q4, r6\n" \
    "vdup.8 q5, r7\n"

/* The even channels in q0, the odd ones in q1. */
#define CCML_HELIUM_8X1_I8_STORE \
    "vld20.32 {q2, q3}, [r5]\n" \
    "vld21.32 {q2, q3}, [r5]!\n" \
    CCML_HELIUM_REQUANTIZE( \
        "vmov q0[2], q0[0], r0, r8\n" \
        "vmov q0[3], q0[1], r4, r12\n", \
        "vmov q1[2], q1[0], r2, r10\n", \
        "vmov q1[3], q1[1], r6, lr\n", \
        "q2", "q3", "", "", "", "q4", "q5") \
    "vctp.16 r11\n" \
    "vpst\n" \
    "vstrbt.16 q0, [r3], #8\n" CCML_HELIUM_8X1_NEXT

#define CCML_BLOCK_HELIUM_GEMM_8X1_I8 1
CCML_NAKED ccml_helium_gemm_8x1_i8(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t vectors CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED,
    int32_t lo CCML_UNUSED)
{
    CCML_HELIUM_8X1(CCML_HELIUM_8X1_I8_SETUP, CCML_HELIUM_8X1_I8_STORE);
}
#endif

#endif
