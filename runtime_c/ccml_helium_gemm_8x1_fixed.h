/* Part of the ccml runtime: one pixel by all channels, requantized to bytes by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_8X1_FIXED_H
#define CCML_HELIUM_GEMM_8X1_FIXED_H

#include "ccml_helium_gemm_8x1.h"

#if CCML_HELIUM
/* The even channels in q0, the odd ones in q1. Moves and arithmetic are of one unit, two cycles each; loads stand
   between. */
#define CCML_HELIUM_8X1_FIXED_STORE \
    "vmov q0[2], q0[0], r0, r8\n" \
    "vld20.32 {q2, q3}, [r5]\n" \
    "vmov q0[3], q0[1], r4, r12\n" \
    "vld21.32 {q2, q3}, [r5]!\n" \
    "vmov q1[2], q1[0], r2, r10\n" \
    "ldr r1, [sp, #80]\n" \
    "vctp.16 r11\n" \
    "vmov q1[3], q1[1], r6, lr\n" \
    "vqrdmlash.s32 q0, q2, r1\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vqrdmlash.s32 q1, q3, r1\n" CCML_HELIUM_8X1_NEXT \
    "vqmovnt.s32 q0, q1\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vpst\n" \
    "vstrbt.16 q0, [r3], #8\n"

#define CCML_BLOCK_HELIUM_GEMM_8X1_FIXED 1
CCML_NAKED ccml_helium_gemm_8x1_fixed(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t vectors CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    CCML_HELIUM_8X1("", CCML_HELIUM_8X1_FIXED_STORE);
}
#endif

#endif
