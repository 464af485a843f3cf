/* Part of the ccml runtime: pixels by all channels, as sums; rows of y are filled up to a multiple of four.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X2_I32_H
#define CCML_HELIUM_GEMM_4X2_I32_H

#include "ccml_helium_gemm_4x2.h"

#if CCML_HELIUM
#define CCML_HELIUM_4X2_I32_ROW \
    "add r7, r9, #3\n" \
    "bic r7, r7, #3\n" \
    "lsl r7, r7, #2\n"

#define CCML_HELIUM_4X2_I32_STORE \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vmov q1[2], q1[0], r8, r12\n" \
    "vmov q1[3], q1[1], r10, lr\n" \
    "vstrw.32 q0, [r1], #16\n" \
    "vstrw.32 q1, [r3], #16\n"

#define CCML_BLOCK_HELIUM_GEMM_4X2_I32 1
CCML_NAKED ccml_helium_gemm_4x2_i32(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t runs CCML_UNUSED,
    int32_t vectors CCML_UNUSED, int32_t run_step CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t channels CCML_UNUSED)
{
    CCML_HELIUM_4X2(
        "", CCML_HELIUM_4X2_I32_ROW, "", CCML_HELIUM_4X2_LONE_STEP, CCML_HELIUM_4X2_I32_STORE);
}
#endif

#endif
