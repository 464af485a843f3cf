/* Part of the ccml runtime: one row of a depthwise 3x3 convolution of stride 2, from staged pairs of columns to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_BYTES_STRIDE2_H
#define CCML_DEPTHWISE_BYTES_STRIDE2_H

#include "ccml_depthwise_rounded.h"

#if CCML_ARM_DSP

/* The next output, behind which flags say whether it was the last. */
#define CCML_DEPTHWISE_OUTPUT \
    "vmov r10, s0\n" \
    "smlad r10, r4, r7, r10\n" \
    "smlad r10, r5, r8, r10\n" \
    "smlad r10, r6, r9, r10\n" \
    "ldr r4, [r1, #48]!\n" \
    "ldr r5, [r1, #16]\n" \
    "ldr r6, [r1, #32]\n" \
    "vmov r0, s3\n" \
    "smlad r10, r4, r3, r10\n" \
    "smlabb r10, r6, r0, r10\n" \
    "vmov r0, lr, s4, s5\n" \
    CCML_DEPTHWISE_BYTE("r10") \
    "strb r10, [r2, r12]\n" \
    "adds r12, r12, r11\n"

/* A pair in r4 and r5 (two rows of its columns) and r6 (its columns of the third); their weights in r7, r8 and r9, those
   of the next pair's first column in r3 and s3. In s0 the bias, s4 the factor, s5 the zero point, s6 the channels left, s7
   bytes from behind a channel to the next, s11 minus the distance of the ends of a row, s12 the stream. */
#define CCML_BLOCK_DEPTHWISE_BYTES_STRIDE2 1
CCML_NAKED ccml_depthwise_bytes_stride2(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t outputs CCML_UNUSED, int32_t step CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd r5, r11, [sp, #36]\n"
        "ldr r6, [sp, #44]\n"
        "vmov s12, r0\n"
        "vmov s5, r6\n"
        "lsl r7, r3, #2\n"
        "mul r6, r11, r5\n"
        "add r2, r2, r6\n"
        "rsb r6, r6, #0\n"
        "vmov s11, r6\n"
        "add r5, r5, r5, lsl #1\n"
        "lsl r5, r5, #4\n"
        "sub r5, r5, #4\n"
        "vmov s6, s7, r7, r5\n"
        "1:\n"
        "vmov r0, s12\n"
        "ldm r0!, {r4, r5, r6, r7, r8}\n"
        "vmov s12, r0\n"
        "vmov s0, r4\n"
        "vmov s3, s4, r7, r8\n"
        "sxtb16 r7, r5\n"
        "sxtb16 r8, r5, ror #8\n"
        "sxtb16 r9, r6\n"
        "sxtb16 r3, r6, ror #8\n"
        "vmov r12, s11\n"
        "ldr r4, [r1]\n"
        "ldr r5, [r1, #16]\n"
        "ldr r6, [r1, #32]\n"
        "vmov r0, s7\n"
        "tst r0, #16\n"
        "beq 3f\n" /* an odd number */
        "2:\n" CCML_DEPTHWISE_OUTPUT
        "3:\n" CCML_DEPTHWISE_OUTPUT
        "bne 2b\n"
        "vmov r0, r4, s6, s7\n"
        "sub r1, r1, r4\n"
        "add r2, r2, #1\n"
        "subs r0, r0, #1\n"
        "vmov s6, r0\n"
        "tst r0, #3\n"
        "bne 1b\n"
        "add r1, r1, r4\n"
        "add r1, r1, #36\n"
        "cmp r0, #0\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_OUTPUT
#endif

#endif
