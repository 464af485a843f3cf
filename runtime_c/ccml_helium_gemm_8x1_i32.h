/* Part of the ccml runtime: one pixel by all channels, as sums, filled up to a multiple of eight.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_8X1_I32_H
#define CCML_HELIUM_GEMM_8X1_I32_H

#include "ccml_helium_gemm_8x1.h"

#if CCML_HELIUM
#define CCML_HELIUM_8X1_I32_STORE \
    "stm r3!, {r0, r2, r4, r6}\n" \
    "stm r3!, {r8, r10, r12, lr}\n" CCML_HELIUM_8X1_NEXT

#define CCML_BLOCK_HELIUM_GEMM_8X1_I32 1
CCML_NAKED ccml_helium_gemm_8x1_i32(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t vectors CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    CCML_HELIUM_8X1("", CCML_HELIUM_8X1_I32_STORE);
}
#endif

#endif
