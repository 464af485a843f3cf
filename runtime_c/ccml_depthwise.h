/* Part of the ccml runtime: depthwise 3x3 convolutions of four channels at a time.

   x has 8 words for each column: for each channel the rows (0, 1) and (2, 3) as halfwords. w has for each channel a bias
   and three words of bytes (w0, w1, w1, w2). Accumulators take the place of the columns.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_H
#define CCML_DEPTHWISE_H

#include "ccml_bits.h"
#include "ccml_dot.h"
#include "ccml_widen.h"

#if CCML_ARM_DSP

/* Bias and weights of the next channel: the bias in s0 and s1, (w0, w1) in r4, r6, r8 and (w1, w2) in r5, r7, r9. */
#define CCML_DEPTHWISE_CHANNEL \
    "ldm r0!, {r2, r4, r6, r8}\n" \
    "vmov s0, s1, r2, r2\n" \
    "sxtb16 r5, r4, ror #8\n" \
    "sxtb16 r4, r4\n" \
    "sxtb16 r7, r6, ror #8\n" \
    "sxtb16 r6, r6\n" \
    "sxtb16 r9, r8, ror #8\n" \
    "sxtb16 r8, r8\n"
#endif

#endif
