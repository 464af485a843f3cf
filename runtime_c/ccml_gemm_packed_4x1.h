/* Part of the ccml runtime: a single pixel by all channels, four channels at a time, on packed weights.

   w has for each four channels their biases, a word of weights per channel for each group of four k (the halfwords
   w1 - 256 * w0 and 256 * w2 - w3), then (to requantize) their factors. Accumulators are 256 times the sums. The channels are a multiple of four.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_4X1_H
#define CCML_GEMM_PACKED_4X1_H

#include "ccml_gemm_packed_2x4.h"

#if CCML_ARM_DSP

/* Four channels of a group, whose activations go to r3 (256 * x + m of two k each) and r2 (m, exchanged). Weights loaded one by one right behind
   the activations take one cycle less than by one instruction, which is three instructions less: groups take turns. */
#define CCML_PACKED_4X1_ONE_BY_ONE \
    "ldr r11, [r0, #4]\n" \
    "ldr r12, [r0, #8]\n" \
    "ldr lr, [r0, #12]\n" \
    "ldr r10, [r0], #16\n"
#define CCML_PACKED_4X1_AT_ONCE "ldm r0!, {r10, r11, r12, lr}\n"
#define CCML_PACKED_4X1_PRODUCTS(multiply, x) \
    multiply " r4, " x ", r10, r4\n" \
    multiply " r5, " x ", r11, r5\n" \
    multiply " r6, " x ", r12, r6\n" \
    multiply " r7, " x ", lr, r7\n"
#define CCML_PACKED_4X1_GROUP(weights) \
    "ldr r3, [r1], #4\n" weights \
    "eor r3, r3, #0x800080\n" \
    "uxtb16 r2, r3, ror #16\n" CCML_PACKED_4X1_PRODUCTS("smlsdx", "r2") \
    "sxtb16 r10, r10\n" \
    "sxtb16 r11, r11\n" \
    "sxtb16 r12, r12\n" \
    "sxtb16 lr, lr\n" CCML_PACKED_4X1_PRODUCTS("smlsd", "r3")

/* void f(const int32_t *w, const int8_t *x, T *y, int32_t groups, int32_t channels, ...). `setup` has the channels in r5,
   and y in r2, to whose end it sets r5; r6, r7 and r10 are free, arguments from sp + 32 on. `finish` stores the accumulators, r4
   to r7, at r2 and moves that on; r3 and r10 to lr are free, too.

   In s2 x, s3 where to begin with it, s4 its end, s5 y, s6 its end; s0 and s1 are those of `setup` and `finish`. */
#define CCML_PACKED_4X1_WITH(setup, finish) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r7, r10, r11, lr}\n" \
        "ldr r5, [sp, #28]\n" \
        setup \
        "vmov s5, s6, r2, r5\n" \
        "add r4, r1, r3, lsl #2\n" \
        "vmov s4, r4\n" \
        "sub r3, r3, #1\n" \
        "mov r6, #5\n" \
        "udiv r5, r3, r6\n" \
        "mls r3, r5, r6, r3\n" \
        "add r3, r3, #1\n" \
        "adr.w r7, 3f\n" \
        "lsr r4, r3, #1\n" \
        "sub r3, r3, r4\n" \
        "mov r5, #3f - 4f\n" \
        "mls r7, r3, r5, r7\n" \
        "mov r5, #4f - 6f\n" \
        "mls r7, r4, r5, r7\n" \
        "orr r7, r7, #1\n" \
        "vmov s2, s3, r1, r7\n" \
        "1:\n" \
        "ldm r0!, {r4-r7}\n" \
        "vmov r1, r10, s2, s3\n" \
        "bx r10\n" \
        ".p2align 2\n" \
        "2:\n" CCML_PACKED_4X1_GROUP(CCML_PACKED_4X1_AT_ONCE) CCML_PACKED_4X1_GROUP(CCML_PACKED_4X1_ONE_BY_ONE) \
        CCML_PACKED_4X1_GROUP(CCML_PACKED_4X1_AT_ONCE) \
        "6:\n" CCML_PACKED_4X1_GROUP(CCML_PACKED_4X1_ONE_BY_ONE) \
        "4:\n" CCML_PACKED_4X1_GROUP(CCML_PACKED_4X1_AT_ONCE) \
        "3:\n" \
        "vmov r10, s4\n" \
        "cmp r1, r10\n" \
        "bne.w 2b\n" \
        finish \
        "vmov s5, r2\n" \
        "cmp r2, r3\n" \
        "bne.w 1b\n" \
        "pop {r4-r7, r10, r11, pc}\n")

/* Bytes, with zero_point and shift as arguments. `multiply` adds the upper words of the products of the accumulators, r4
   to r7, and the factors at r0 to r2; it may change r10 and r11. In s0 what is added before the shift to unsigned bytes
   (zero_point + 128 and a half), s1 the shift. */
#define CCML_PACKED_4X1(multiply) \
    CCML_PACKED_4X1_WITH( \
        "ldrd r6, r7, [sp, #32]\n" \
        "mov r10, #1\n" \
        "add r6, r6, #128\n" \
        "lsl r6, r6, r7\n" \
        "lsl r10, r10, r7\n" \
        "add r6, r6, r10, lsr #1\n" \
        "vmov s0, s1, r6, r7\n" \
        "add r5, r5, r2\n", \
        "vmov r2, r3, s0, s1\n" \
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
        "vmov r2, r3, s5, s6\n" \
        "str r4, [r2], #4\n")
#endif

#endif
