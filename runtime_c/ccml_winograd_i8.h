/* Part of the ccml runtime: ccml_winograd.h, requantized by float32 scales.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_WINOGRAD_I8_H
#define CCML_WINOGRAD_I8_H

#include "ccml_winograd.h"

#if CCML_ARM_DSP

/* In s3 what is added to round (1.5 * 2^23), in s1 what its bits are, less the zero point. */
#define CCML_WINOGRAD_I8_SETUP \
    "ldr r4, [sp, #64]\n" \
    "movw r5, #0\n" \
    "movt r5, #0x4b40\n" \
    "vmov s3, r5\n" \
    "sub r5, r5, r4\n" \
    "vmov s1, r5\n"
#define CCML_WINOGRAD_I8_BYTE(y) \
    "vmov s4, " y "\n" CCML_PACKED_2X4_SCALE("s4", "s0", "s3") \
    "vmov " y ", s4\n" \
    "sub " y ", " y ", r2\n" \
    "ssat " y ", #8, " y "\n"
#define CCML_WINOGRAD_I8_BYTES \
    "vmov r2, s1\n" \
    CCML_WINOGRAD_I8_BYTE("r6") CCML_WINOGRAD_I8_BYTE("r7") \
    CCML_WINOGRAD_I8_BYTE("r8") CCML_WINOGRAD_I8_BYTE("r9")

#define CCML_BLOCK_WINOGRAD_I8 1
CCML_NAKED ccml_winograd_i8(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *m CCML_UNUSED, int8_t *y0 CCML_UNUSED,
    int8_t *y1 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t step CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_WINOGRAD(CCML_WINOGRAD_SIXTEEN, CCML_WINOGRAD_I8_SETUP, CCML_WINOGRAD_I8_BYTES);
}

#undef CCML_WINOGRAD_I8_SETUP
#undef CCML_WINOGRAD_I8_BYTE
#undef CCML_WINOGRAD_I8_BYTES
#endif

#endif
