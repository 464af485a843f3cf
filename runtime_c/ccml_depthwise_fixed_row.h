/* Part of the ccml runtime: accumulators of one row of a depthwise convolution, requantized to bytes without floats.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_FIXED_ROW_H
#define CCML_DEPTHWISE_FIXED_ROW_H

#include "ccml_depthwise_fixed.h"

#if CCML_ARM_DSP
#define CCML_BLOCK_DEPTHWISE_FIXED_ROW 1
CCML_NAKED ccml_depthwise_fixed_row(
    const int32_t *factors CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t outputs CCML_UNUSED,
    int32_t step CCML_UNUSED, int32_t zero_point CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd lr, r12, [sp, #36]\n"
        "ldr r11, [sp, #44]\n" CCML_DEPTHWISE_OFFSET
        "mul r3, r3, lr\n"
        "add r2, r2, r3\n"
        "rsb r3, r3, #0\n"
        "ldm r0, {r7, r8, r9, r10}\n"
        "1:\n"
        "ldr r0, [r1, #24]\n"
        "ldr r6, [r1, #16]\n"
        "ldr r5, [r1, #8]\n"
        "ldr r4, [r1], #32\n"
        CCML_DEPTHWISE_SCALED("r4", "r7")
        CCML_DEPTHWISE_SCALED("r5", "r8")
        CCML_DEPTHWISE_SCALED("r6", "r9")
        CCML_DEPTHWISE_SCALED("r0", "r10")
        "pkhbt r4, r4, r6, lsl #16\n"
        "pkhbt r5, r5, r0, lsl #16\n"
        "usat16 r4, #8, r4\n"
        "usat16 r5, #8, r5\n"
        "orr r4, r4, r5, lsl #8\n"
        "eor r4, r4, #0x80808080\n"
        "str r4, [r2, r3]\n"
        "adds r3, r3, lr\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}
#endif

#endif
