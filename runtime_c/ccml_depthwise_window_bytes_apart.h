/* Part of the ccml runtime: outputs of a depthwise convolution with any kernel, from staged windows to bytes that are apart,
   in s4 how far.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_WINDOW_BYTES_APART_H
#define CCML_DEPTHWISE_WINDOW_BYTES_APART_H

#include "ccml_depthwise_window_rounded.h"

#if CCML_ARM_DSP
#define CCML_BLOCK_DEPTHWISE_WINDOW_BYTES_APART 1
CCML_NAKED ccml_depthwise_window_bytes_apart(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t outputs CCML_UNUSED, int32_t pairs CCML_UNUSED, int32_t advance CCML_UNUSED, int32_t step CCML_UNUSED,
    int32_t zero_point CCML_UNUSED, int32_t apart CCML_UNUSED)
{
    __asm__ volatile(CCML_DEPTHWISE_WINDOW_ROUNDED(
        "ldr r12, [sp, #88]\n" "vmov s4, r12\n",
        "ldm sp, {r0, r2, r3, r8, r9}\n" "vmov r10, s4\n" "strb r4, [r2]\n" "strb r5, [r2, r10]\n"
        "add r11, r2, r10, lsl #1\n" "strb r6, [r11]\n" "strb r7, [r11, r10]\n",
        "vmov r12, s4\n" "add r2, r2, r12, lsl #2\n"));
}
#endif

#endif
