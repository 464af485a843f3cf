/* Part of the ccml runtime: ccml_winograd_fixed for a shift of 6.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_WINOGRAD_FIXED6_H
#define CCML_WINOGRAD_FIXED6_H

#include "ccml_winograd.h"

#if CCML_ARM_DSP

/* In s1 and s3 what is added to the upper words of products. */
#define CCML_WINOGRAD_FIXED6_SETUP \
    "ldr r4, [sp, #64]\n" \
    "lsl r4, r4, #6\n" \
    "add r4, r4, #32\n" \
    "vmov s1, r4\n" \
    "vmov s3, r4\n"
#define CCML_WINOGRAD_FIXED6_BYTE(y) \
    "smmla " y ", " y ", r2, r3\n" \
    "ssat " y ", #8, " y ", asr #6\n"
#define CCML_WINOGRAD_FIXED6_BYTES(f, added, y00, y01, y10, y11) \
    "vmov r2, r3, " f ", " added "\n" \
    CCML_WINOGRAD_FIXED6_BYTE(y00) CCML_WINOGRAD_FIXED6_BYTE(y01) \
    CCML_WINOGRAD_FIXED6_BYTE(y10) CCML_WINOGRAD_FIXED6_BYTE(y11)

#define CCML_BLOCK_WINOGRAD_FIXED6 1
CCML_NAKED ccml_winograd_fixed6(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *m CCML_UNUSED, int8_t *y0 CCML_UNUSED,
    int8_t *y1 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t step CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_WINOGRAD(CCML_WINOGRAD_FIXED6_SETUP, CCML_WINOGRAD_FIXED6_BYTES);
}

#undef CCML_WINOGRAD_FIXED6_SETUP
#undef CCML_WINOGRAD_FIXED6_BYTE
#undef CCML_WINOGRAD_FIXED6_BYTES
#endif

#endif
