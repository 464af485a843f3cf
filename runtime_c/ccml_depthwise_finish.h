/* Part of the ccml runtime: accumulators of a depthwise convolution, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_FINISH_H
#define CCML_DEPTHWISE_FINISH_H

#include "ccml_tile.h"

#if CCML_ARM_DSP

/* 1.5 * 2^23 eight times from sp on. */
#define CCML_DEPTHWISE_ROUNDERS \
    "sub sp, sp, #32\n" \
    "movw r10, #0\n" \
    "movt r10, #0x4b40\n" \
    "mov r11, r10\n" \
    "strd r10, r11, [sp]\n" \
    "strd r10, r11, [sp, #8]\n" \
    "strd r10, r11, [sp, #16]\n" \
    "strd r10, r11, [sp, #24]\n"

/* The bits of the rounded sums of channels 0 to 3, of which only the low halfwords matter, as four bytes in c0; r12 has
   the zero point + 128 twice. */
#define CCML_DEPTHWISE_BYTES(c0, c1, c2, c3) \
    "pkhbt " c0 ", " c0 ", " c2 ", lsl #16\n" \
    "pkhbt " c1 ", " c1 ", " c3 ", lsl #16\n" \
    "qadd16 " c0 ", " c0 ", r12\n" \
    "qadd16 " c1 ", " c1 ", r12\n" \
    "usat16 " c0 ", #8, " c0 "\n" \
    "usat16 " c1 ", #8, " c1 "\n" \
    "orr " c0 ", " c0 ", " c1 ", lsl #8\n" \
    "eor " c0 ", " c0 ", #0x80808080\n"
#endif

#endif
