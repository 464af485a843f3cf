/* Part of the ccml runtime: pixels of runs of at most twelve steps by all channels, which are in fours, as bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X2_SHORT_RUNS_I8_H
#define CCML_HELIUM_GEMM_4X2_SHORT_RUNS_I8_H

#include "ccml_helium_gemm_4x2_short_runs.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_GEMM_4X2_SHORT_RUNS_I8 1
CCML_NAKED ccml_helium_gemm_4x2_short_runs_i8(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t runs CCML_UNUSED,
    int32_t vectors CCML_UNUSED, int32_t run_step CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED,
    int32_t lo CCML_UNUSED)
{
    CCML_HELIUM_SHORT_RUNS(
        "ldrd r6, r7, [sp, #124]\n"
        "vdup.16 q4, r6\n"
        "vdup.8 q5, r7\n",
        "", CCML_HELIUM_REQUANTIZE, "q4", "q5");
}
#endif

#endif
