/* Part of the ccml runtime: pixels of one run of at most eight steps by all channels, which are in fours, by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X2_ONE_RUN_FIXED_H
#define CCML_HELIUM_GEMM_4X2_ONE_RUN_FIXED_H

#include "ccml_helium_gemm_4x2_one_run.h"

#if CCML_HELIUM
/* Moves and arithmetic are of one unit, two cycles each; the rest stands between. */
#define CCML_HELIUM_ONE_RUN_FIXED \
    "vmov q0[2], q0[0], r0, r4\n" \
    "ldr r1, [sp, #100]\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "ldr r3, [sp, #12]\n" \
    "vmov q1[2], q1[0], r8, r12\n" \
    "vqrdmlash.s32 q0, q2, r1\n" \
    "vmov q1[3], q1[1], r10, lr\n" \
    "subs r11, r11, #4\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vqrdmlash.s32 q1, q2, r1\n" \
    "csel r5, r3, r5, le\n" \
    "add r1, r7, r9\n" \
    "vqmovnt.s32 q0, q1\n" \
    CCML_HELIUM_ONE_RUN_BIASES0 \
    "vqmovnb.s16 q0, q0\n" \
    CCML_HELIUM_ONE_RUN_BIASES1 \
    "vshr.u32 q1, q0, #16\n" \
    CCML_HELIUM_4X2_WEIGHTS \
    "vstrb.32 q0, [r7], #4\n" \
    "vstrb.32 q1, [r1]\n" \
    "ble 6f\n" \
    "ldrd r1, r3, [sp]\n" \
    "ldr pc, [sp, #16]\n" \
    "6:\n"

#define CCML_BLOCK_HELIUM_GEMM_4X2_ONE_RUN_FIXED 1
CCML_NAKED ccml_helium_gemm_4x2_one_run_fixed(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t vectors CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t pixel_step CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_HELIUM_ONE_RUN("", CCML_HELIUM_ONE_RUN_FIXED);
}
#endif

#endif
