/* Part of the ccml runtime: pixels by all channels, requantized to bytes by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X2_FIXED_H
#define CCML_HELIUM_GEMM_4X2_FIXED_H

#include "ccml_helium_gemm_4x2_i8.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_GEMM_4X2_FIXED 1
CCML_NAKED ccml_helium_gemm_4x2_fixed(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t runs CCML_UNUSED,
    int32_t vectors CCML_UNUSED, int32_t run_step CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    CCML_HELIUM_4X2(
        "", "mov r7, r9\n", CCML_HELIUM_4X2_WEIGHTS, CCML_HELIUM_4X2_STEP,
        CCML_HELIUM_4X2_RESULTS(CCML_HELIUM_REQUANTIZE_FIXED, "r7", "", "ldr r7, [sp, #136]\n", "", "", "")
            CCML_HELIUM_4X2_STORE);
}
#endif

#endif
