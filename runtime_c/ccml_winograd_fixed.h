/* Part of the ccml runtime: ccml_winograd.h, requantized by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_WINOGRAD_FIXED_H
#define CCML_WINOGRAD_FIXED_H

#include "ccml_winograd.h"

#if CCML_ARM_DSP

/* In s3 what is added to the upper words of products, s4 the shift. */
#define CCML_WINOGRAD_FIXED_SETUP \
    "ldrd r4, r5, [sp, #64]\n" \
    "mov r6, #1\n" \
    "lsl r4, r4, r5\n" \
    "lsl r6, r6, r5\n" \
    "add r4, r4, r6, lsr #1\n" \
    "vmov s3, s4, r4, r5\n"
#define CCML_WINOGRAD_FIXED_BYTE(y) \
    "smmla " y ", " y ", r2, r3\n" \
    "asr " y ", " y ", r4\n" \
    "ssat " y ", #8, " y "\n"
#define CCML_WINOGRAD_FIXED_BYTES \
    "vmov r2, s0\n" \
    "vmov r3, r4, s3, s4\n" \
    CCML_WINOGRAD_FIXED_BYTE("r6") CCML_WINOGRAD_FIXED_BYTE("r7") \
    CCML_WINOGRAD_FIXED_BYTE("r8") CCML_WINOGRAD_FIXED_BYTE("r9")

#define CCML_BLOCK_WINOGRAD_FIXED 1
CCML_NAKED ccml_winograd_fixed(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *m CCML_UNUSED, int8_t *y0 CCML_UNUSED,
    int8_t *y1 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t step CCML_UNUSED,
    int32_t zero_point CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    CCML_WINOGRAD(CCML_WINOGRAD_SIXTEEN, CCML_WINOGRAD_FIXED_SETUP, CCML_WINOGRAD_FIXED_BYTES);
}

#undef CCML_WINOGRAD_FIXED_SETUP
#undef CCML_WINOGRAD_FIXED_BYTE
#undef CCML_WINOGRAD_FIXED_BYTES
#endif

#endif
