/* Part of the ccml runtime: one pixel of halfwords by all channels, as sums, filled up to a multiple of eight.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_8X1_S16_I32_H
#define CCML_HELIUM_GEMM_8X1_S16_I32_H

#include "ccml_helium_gemm_8x1.h"

#if CCML_HELIUM
#define CCML_HELIUM_8X1_S16_DOT(acc, x, w) "vmladava.s16 " acc ", " x ", " w "\n"
#define CCML_HELIUM_8X1_S16_I32_STORE \
    "vmov q0[2], q0[0], r0, r4\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vmov q1[2], q1[0], r8, r12\n" \
    "vmov q1[3], q1[1], r10, lr\n" \
    "vstrw.32 q0, [r3], #16\n" \
    "vstrw.32 q1, [r3], #16\n" CCML_HELIUM_8X1_NEXT

#define CCML_BLOCK_HELIUM_GEMM_8X1_S16_I32 1
CCML_NAKED ccml_helium_gemm_8x1_s16_i32(
    const int32_t *w CCML_UNUSED, const int16_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t vectors CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    CCML_HELIUM_8X1_OF(CCML_HELIUM_8X1_S16_DOT, "", CCML_HELIUM_8X1_S16_I32_STORE);
}
#endif

#endif
