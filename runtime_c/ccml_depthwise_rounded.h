/* Part of the ccml runtime: sums of depthwise convolutions, requantized to bytes by the rounded upper word of a product.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_ROUNDED_H
#define CCML_DEPTHWISE_ROUNDED_H

#include "ccml_depthwise.h"

#if CCML_ARM_DSP

/* The sum in `acc`, by the factor in r0 and with the zero point in lr. */
#define CCML_DEPTHWISE_BYTE(acc) \
    "smmlar " acc ", " acc ", r0, lr\n" \
    "ssat " acc ", #8, " acc "\n"

/* From the stream in s14: the bias in s0 and s1, (w0, w1) and (w1, w2) of the columns in s2 to s7, the factor in s8. */
#define CCML_DEPTHWISE_LOAD_CHANNEL \
    "vmov r0, s14\n" \
    "ldm r0!, {r4, r5, r6, r7, r8}\n" \
    "vmov s14, r0\n" \
    "vmov s0, s1, r4, r4\n" \
    "sxtb16 r4, r5\n" \
    "sxtb16 r5, r5, ror #8\n" \
    "vmov s2, s3, r4, r5\n" \
    "sxtb16 r4, r6\n" \
    "sxtb16 r5, r6, ror #8\n" \
    "vmov s4, s5, r4, r5\n" \
    "sxtb16 r4, r7\n" \
    "sxtb16 r5, r7, ror #8\n" \
    "vmov s6, s7, r4, r5\n" \
    "vmov s8, r8\n"
#endif

#endif
