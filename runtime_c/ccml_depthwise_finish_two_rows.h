/* Part of the ccml runtime: accumulators of two rows of a depthwise convolution, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_FINISH_TWO_ROWS_H
#define CCML_DEPTHWISE_FINISH_TWO_ROWS_H

#include "ccml_depthwise_finish.h"

#if CCML_ARM_DSP
#define CCML_BLOCK_DEPTHWISE_FINISH_TWO_ROWS 1
CCML_NAKED ccml_depthwise_finish_two_rows(
    const int32_t *scales CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int32_t outputs CCML_UNUSED, int32_t step CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "vpush {s16-s23}\n"
        "ldrd r4, lr, [sp, #68]\n"
        "ldr r12, [sp, #76]\n" CCML_DEPTHWISE_ROUNDERS
        "vldm r0, {s8-s11}\n"
        "add r12, r12, #128\n"
        "pkhbt r12, r12, r12, lsl #16\n"
        "mul r4, r4, lr\n"
        "add r2, r2, r4\n"
        "add r3, r3, r4\n"
        "rsb r0, r4, #0\n"
        "1:\n"
        "vldm r1!, {s0-s7}\n"
        "vldm sp, {s16-s23}\n"
        CCML_SCALE("s16", "s0", "s8")
        CCML_SCALE("s17", "s1", "s8")
        CCML_SCALE("s18", "s2", "s9")
        CCML_SCALE("s19", "s3", "s9")
        CCML_SCALE("s20", "s4", "s10")
        CCML_SCALE("s21", "s5", "s10")
        CCML_SCALE("s22", "s6", "s11")
        CCML_SCALE("s23", "s7", "s11")
        "vmov r4, r8, s16, s17\n"
        "vmov r5, r9, s18, s19\n"
        "vmov r6, r10, s20, s21\n"
        "vmov r7, r11, s22, s23\n"
        CCML_DEPTHWISE_BYTES("r8", "r9", "r10", "r11")
        CCML_DEPTHWISE_BYTES("r4", "r5", "r6", "r7")
        "str r8, [r3, r0]\n"
        "str r4, [r2, r0]\n"
        "adds r0, r0, lr\n"
        "bne 1b\n"
        "add sp, sp, #32\n"
        "vpop {s16-s23}\n"
        "pop {r4-r11, pc}\n");
}
#endif

#endif
