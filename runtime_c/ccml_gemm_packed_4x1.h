/* Part of the ccml runtime: a single pixel by all channels, four channels at a time, on packed weights.

   w has for each four channels their biases, a word of weights per channel for each group of four k (two halfwords
   256 * w1 + w0), then their factors. Accumulators are 256 times the sums. The channels are a multiple of four.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_4X1_H
#define CCML_GEMM_PACKED_4X1_H

#include "ccml_gemm_packed_2x4.h"

#if CCML_ARM_DSP

/* Two channels of the activations in r2 (odd k) and r3 (even k). */
#define CCML_PACKED_4X1_PAIR(a, b) \
    "ldrd r10, r11, [r0], #8\n" \
    "smlad " a ", r10, r2, " a "\n" \
    "smlad " b ", r11, r2, " b "\n" \
    "sxtb16 r10, r10\n" \
    "sxtb16 r11, r11\n" \
    "smlad " a ", r10, r3, " a "\n" \
    "smlad " b ", r11, r3, " b "\n"

#define CCML_PACKED_4X1_GROUP \
    "ldr r3, [r1], #4\n" \
    "sxtab16 r2, r8, r3, ror #8\n" \
    "and r3, r9, r3, lsl #8\n" \
    "ssub16 r3, r3, r2\n" CCML_PACKED_4X1_PAIR("r4", "r5") CCML_PACKED_4X1_PAIR("r6", "r7")

/* void f(const int32_t *w, const int8_t *x, int8_t *y, int32_t groups, int32_t channels, int32_t zero_point, int32_t
   shift). `multiply` adds the upper words of the products of the accumulators, r4 to r7, and the factors at r0 to r2; it
   may change r10 and r11.

   On the stack: what is added before the shift to unsigned bytes (zero_point + 128 and a half), the shift, x, the end of
   y; y in lr, the end of x in r12. */
#define CCML_PACKED_4X1(multiply) \
    __asm__ volatile( \
        ".syntax unified\n" \
        "push {r4-r11, lr}\n" \
        "sub sp, sp, #16\n" \
        "ldr r5, [sp, #52]\n" \
        "ldrd r6, r7, [sp, #56]\n" \
        "mov r8, #1\n" \
        "add r6, r6, #128\n" \
        "lsl r6, r6, r7\n" \
        "lsl r8, r8, r7\n" \
        "add r6, r6, r8, lsr #1\n" \
        "strd r6, r7, [sp]\n" \
        "add r5, r5, r2\n" \
        "strd r1, r5, [sp, #8]\n" \
        "mov lr, r2\n" \
        "add r12, r1, r3, lsl #2\n" \
        "movw r8, #0xff81\n" \
        "movt r8, #0xff81\n" \
        "mov r9, #0xff00ff00\n" \
        "1:\n" \
        "ldm r0!, {r4-r7}\n" \
        "ldr r1, [sp, #8]\n" \
        "sub r2, r12, r1\n" \
        "tst r2, #4\n" \
        "bne 3f\n" \
        "2:\n" CCML_PACKED_4X1_GROUP \
        "3:\n" CCML_PACKED_4X1_GROUP \
        "cmp r1, r12\n" \
        "bne 2b\n" \
        "ldrd r2, r3, [sp]\n" \
        multiply \
        "asr r4, r4, r3\n" \
        "asr r5, r5, r3\n" \
        "asr r6, r6, r3\n" \
        "asr r7, r7, r3\n" \
        "pkhbt r4, r4, r6, lsl #16\n" \
        "pkhbt r5, r5, r7, lsl #16\n" \
        "usat16 r4, #8, r4\n" \
        "usat16 r5, #8, r5\n" \
        "orr r4, r4, r5, lsl #8\n" \
        "eor r4, r4, #0x80808080\n" \
        "str r4, [lr], #4\n" \
        "ldr r2, [sp, #12]\n" \
        "cmp lr, r2\n" \
        "bne 1b\n" \
        "add sp, sp, #16\n" \
        "pop {r4-r11, pc}\n")
#endif

#endif
