/* Part of the ccml runtime: pixels of one step by all channels, requantized to bytes by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X1_FIXED_H
#define CCML_HELIUM_GEMM_4X1_FIXED_H

#include "ccml_helium_gemm_4x1.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_GEMM_4X1_FIXED 1
CCML_NAKED ccml_helium_gemm_4x1_fixed(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t apart CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_HELIUM_GEMM_4X1(
        "", "vqrdmlash.s32 q1, q2, r12\n", "vqmovnb.s32 q1, q1\n", "vqmovnb.s16 q1, q1\n", "");
}
#endif

#endif
