/* Part of the ccml runtime: accumulators of one row of a depthwise convolution, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_FINISH_ROW_H
#define CCML_DEPTHWISE_FINISH_ROW_H

#include "ccml_depthwise_finish.h"

#if CCML_ARM_DSP
#define CCML_BLOCK_DEPTHWISE_FINISH_ROW 1
CCML_NAKED ccml_depthwise_finish_row(
    const int32_t *scales CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t outputs CCML_UNUSED,
    int32_t step CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd lr, r12, [sp, #36]\n" CCML_DEPTHWISE_ROUNDERS
        "vldm r0, {s8-s11}\n"
        "add r12, r12, #128\n"
        "pkhbt r12, r12, r12, lsl #16\n"
        "mul r3, r3, lr\n"
        "add r2, r2, r3\n"
        "rsb r0, r3, #0\n"
        "1:\n"
        "vldm r1!, {s0-s7}\n"
        "vldm sp, {s12-s15}\n"
        CCML_SCALE("s12", "s0", "s8")
        CCML_SCALE("s13", "s2", "s9")
        CCML_SCALE("s14", "s4", "s10")
        CCML_SCALE("s15", "s6", "s11")
        "vmov r4, r5, s12, s13\n"
        "vmov r6, r7, s14, s15\n"
        CCML_DEPTHWISE_BYTES("r4", "r5", "r6", "r7")
        "str r4, [r2, r0]\n"
        "adds r0, r0, lr\n"
        "bne 1b\n"
        "add sp, sp, #32\n"
        "pop {r4-r11, pc}\n");
}
#endif

#endif
