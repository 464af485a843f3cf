/* Part of the ccml runtime: two rows of a depthwise 3x3 convolution of stride 1, from staged columns to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_BYTES_TWO_ROWS_H
#define CCML_DEPTHWISE_BYTES_TWO_ROWS_H

#include "ccml_depthwise_rounded.h"

#if CCML_ARM_DSP

/* One column of the kernel, its weights in r0 and lr: rows 0 and 1 of the input in `a`, 2 and 3 in `b`. */
#define CCML_DEPTHWISE_TAPS(upper, lower, a, b) \
    "smlad " upper ", " a ", r0, " upper "\n" \
    "smlatb " lower ", " a ", r0, " lower "\n" \
    "smlabt " upper ", " b ", lr, " upper "\n" \
    "smlad " lower ", " b ", lr, " lower "\n"

/* Two columns of outputs at a time, from four staged columns of which the first two are in r8, r9 and r10, r11. In s9
   the zero point, s10 the distance of pixels, s11 the channels left, s12 bytes from behind the outputs of a channel to
   the next channel, s13 minus the distance of the ends of a row, s14 the stream, s15 the
   distance of channels. To the next four it is 40 bytes more than s12, behind what leads to the next channel. */
#define CCML_BLOCK_DEPTHWISE_BYTES_TWO_ROWS 1
CCML_NAKED ccml_depthwise_bytes_two_rows(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int32_t groups CCML_UNUSED, int32_t outputs CCML_UNUSED, int32_t step CCML_UNUSED, int32_t apart CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd r4, r5, [sp, #36]\n"
        "ldrd r6, r8, [sp, #44]\n"
        "ldr r7, [sp, #52]\n"
        "vmov s14, s15, r0, r8\n"
        "vmov s9, s10, r7, r6\n"
        "mul r6, r6, r5\n"
        "add r2, r2, r6\n"
        "add r3, r3, r6\n"
        "rsb r6, r6, #0\n"
        "lsl r5, r5, #5\n"
        "sub r5, r5, #8\n"
        "lsl r4, r4, #2\n"
        "vmov s11, s12, r4, r5\n"
        "vmov s13, r6\n"
        "1:\n" CCML_DEPTHWISE_LOAD_CHANNEL
        "vmov r4, r12, s12, s13\n"
        "tst r4, #32\n"
        "beq 4f\n"
        "ldrd r8, r9, [r1]\n"
        "ldrd r10, r11, [r1, #32]\n"
        "2:\n"
        "vmov r4, r5, s0, s1\n"
        "vmov r6, r7, s0, s1\n"
        "vmov r0, lr, s2, s3\n"
        CCML_DEPTHWISE_TAPS("r4", "r5", "r8", "r9")
        CCML_DEPTHWISE_TAPS("r6", "r7", "r10", "r11")
        "ldrd r8, r9, [r1, #64]!\n"
        "vmov r0, lr, s4, s5\n"
        CCML_DEPTHWISE_TAPS("r4", "r5", "r10", "r11")
        CCML_DEPTHWISE_TAPS("r6", "r7", "r8", "r9")
        "ldrd r10, r11, [r1, #32]\n"
        "vmov r0, lr, s6, s7\n"
        CCML_DEPTHWISE_TAPS("r4", "r5", "r8", "r9")
        CCML_DEPTHWISE_TAPS("r6", "r7", "r10", "r11")
        "vmov r0, lr, s8, s9\n"
        CCML_DEPTHWISE_BYTE("r4")
        CCML_DEPTHWISE_BYTE("r5")
        CCML_DEPTHWISE_BYTE("r6")
        CCML_DEPTHWISE_BYTE("r7")
        "vmov r0, s10\n"
        "strb r5, [r3, r12]\n"
        "strb r4, [r2, r12]\n"
        "add r12, r12, r0\n"
        "strb r7, [r3, r12]\n"
        "strb r6, [r2, r12]\n"
        "adds r12, r12, r0\n"
        "bne 2b\n"
        "3:\n"
        "vmov r4, r0, s11, s12\n"
        "vmov r5, s15\n"
        "sub r1, r1, r0\n"
        "add r2, r2, r5\n"
        "add r3, r3, r5\n"
        "subs r4, r4, #1\n"
        "vmov s11, r4\n"
        "tst r4, #3\n"
        "bne 1b\n"
        "add r1, r1, r0\n"
        "add r1, r1, #40\n"
        "cmp r4, #0\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n"
        "4:\n" /* an odd number: the first column alone */
        "ldrd r10, r11, [r1], #32\n"
        "ldrd r8, r9, [r1]\n"
        "vmov r4, r5, s0, s1\n"
        "vmov r0, lr, s2, s3\n"
        CCML_DEPTHWISE_TAPS("r4", "r5", "r10", "r11")
        "vmov r0, lr, s4, s5\n"
        CCML_DEPTHWISE_TAPS("r4", "r5", "r8", "r9")
        "ldrd r10, r11, [r1, #32]\n"
        "vmov r0, lr, s6, s7\n"
        CCML_DEPTHWISE_TAPS("r4", "r5", "r10", "r11")
        "vmov r0, lr, s8, s9\n"
        CCML_DEPTHWISE_BYTE("r4")
        CCML_DEPTHWISE_BYTE("r5")
        "vmov r0, s10\n"
        "strb r5, [r3, r12]\n"
        "strb r4, [r2, r12]\n"
        "adds r12, r12, r0\n"
        "bne 2b\n"
        "b 3b\n");
}

#undef CCML_DEPTHWISE_TAPS
#endif

#endif
