/* Part of the ccml runtime: accumulators of two rows of a depthwise convolution, requantized to bytes without floats.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_FIXED_TWO_ROWS_H
#define CCML_DEPTHWISE_FIXED_TWO_ROWS_H

#include "ccml_depthwise_fixed.h"

#if CCML_ARM_DSP

/* Two rows of a channel in a0 and a1 and of the next but one in b0 and b1, joined in a0 and a1. */
#define CCML_DEPTHWISE_JOINED(a0, a1, b0, b1, a_factor, b_factor) \
    "ldr r10, [r0, #" a_factor "]\n" \
    CCML_DEPTHWISE_SCALED(a0, "r10") \
    CCML_DEPTHWISE_SCALED(a1, "r10") \
    "ldr r10, [r0, #" b_factor "]\n" \
    CCML_DEPTHWISE_SCALED(b0, "r10") \
    CCML_DEPTHWISE_SCALED(b1, "r10") \
    "pkhbt " a0 ", " a0 ", " b0 ", lsl #16\n" \
    "pkhbt " a1 ", " a1 ", " b1 ", lsl #16\n" \
    "usat16 " a0 ", #8, " a0 "\n" \
    "usat16 " a1 ", #8, " a1 "\n"

/* The distance of pixels is on the stack, lr counts up to 0. */
#define CCML_BLOCK_DEPTHWISE_FIXED_TWO_ROWS 1
CCML_NAKED ccml_depthwise_fixed_two_rows(
    const int32_t *factors CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int32_t outputs CCML_UNUSED, int32_t step CCML_UNUSED, int32_t zero_point CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd r4, r5, [sp, #36]\n"
        "ldrd r12, r11, [sp, #44]\n" CCML_DEPTHWISE_OFFSET
        "mul r4, r4, r5\n"
        "add r2, r2, r4\n"
        "add r3, r3, r4\n"
        "rsb lr, r4, #0\n"
        "1:\n"
        "ldrd r4, r5, [r1], #32\n"
        "ldrd r6, r7, [r1, #-16]\n"
        CCML_DEPTHWISE_JOINED("r4", "r5", "r6", "r7", "0", "8")
        "ldrd r6, r7, [r1, #-24]\n"
        "ldrd r8, r9, [r1, #-8]\n"
        CCML_DEPTHWISE_JOINED("r6", "r7", "r8", "r9", "4", "12")
        "orr r5, r5, r7, lsl #8\n"
        "orr r4, r4, r6, lsl #8\n"
        "eor r5, r5, #0x80808080\n"
        "eor r4, r4, #0x80808080\n"
        "str r5, [r3, lr]\n"
        "str r4, [r2, lr]\n"
        "ldr r10, [sp, #40]\n"
        "adds lr, lr, r10\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_JOINED
#endif

#endif
