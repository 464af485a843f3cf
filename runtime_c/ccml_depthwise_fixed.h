/* Part of the ccml runtime: accumulators of a depthwise convolution, requantized to bytes without floats.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_FIXED_H
#define CCML_DEPTHWISE_FIXED_H

#include "ccml_tile.h"

#if CCML_ARM_DSP

/* What is added to upper words of products before they are shifted to unsigned bytes, in r12; the zero point in r12, the
   shift in r11. */
#define CCML_DEPTHWISE_OFFSET \
    "mov r10, #1\n" \
    "add r12, r12, #128\n" \
    "lsl r12, r12, r11\n" \
    "lsl r10, r10, r11\n" \
    "add r12, r12, r10, lsr #1\n"

/* An accumulator by its factor. */
#define CCML_DEPTHWISE_SCALED(acc, factor) \
    "smmla " acc ", " acc ", " factor ", r12\n" \
    "asr " acc ", " acc ", r11\n"
#endif

#endif
