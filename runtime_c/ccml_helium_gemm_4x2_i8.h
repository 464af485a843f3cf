/* Part of the ccml runtime: pixels by all channels, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X2_I8_H
#define CCML_HELIUM_GEMM_4X2_I8_H

#include "ccml_helium_gemm_4x2.h"

#if CCML_HELIUM
#define CCML_HELIUM_4X2_I8_SETUP \
    "ldrd r6, r7, [sp, #136]\n" \
    "vdup.16 q4, r6\n" \
    "vdup.8 q5, r7\n"

/* The results of the first pixel in q0, those of the second in q1, by the scales or factors in q2 (`requantize`, with
   `zero` and `least`). `next` stands between the first moves; when sums and q2 are free again come `ahead0` to `ahead2`. */
#define CCML_HELIUM_4X2_RESULTS(requantize, zero, least, next, ahead0, ahead1, ahead2) \
    requantize( \
        "vmov q0[2], q0[0], r0, r4\n" next \
        "vmov q0[3], q0[1], r2, r6\n", \
        "vmov q1[2], q1[0], r8, r12\n", \
        "vmov q1[3], q1[1], r10, lr\n", \
        "q2", "q2", ahead0, ahead1, ahead2, zero, least) \
    "vshr.u32 q1, q0, #16\n"

#define CCML_HELIUM_4X2_STORE \
    "vctp.32 r9\n" \
    "vpstt\n" \
    "vstrbt.32 q0, [r1], #4\n" \
    "vstrbt.32 q1, [r3], #4\n"

#define CCML_BLOCK_HELIUM_GEMM_4X2_I8 1
CCML_NAKED ccml_helium_gemm_4x2_i8(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t runs CCML_UNUSED,
    int32_t vectors CCML_UNUSED, int32_t run_step CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED,
    int32_t lo CCML_UNUSED)
{
    CCML_HELIUM_4X2(
        CCML_HELIUM_4X2_I8_SETUP, "mov r7, r9\n", CCML_HELIUM_4X2_WEIGHTS, CCML_HELIUM_4X2_STEP,
        CCML_HELIUM_4X2_RESULTS(CCML_HELIUM_REQUANTIZE, "q4", "q5", "", "", "", "") CCML_HELIUM_4X2_STORE);
}
#endif

#endif
