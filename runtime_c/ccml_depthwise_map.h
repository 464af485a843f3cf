/* Part of the ccml runtime: depthwise 3x3 convolution of stride 1, four channels of a map from staged pairs of rows.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_MAP_H
#define CCML_DEPTHWISE_MAP_H

#include "ccml_depthwise_rounded.h"

#if CCML_ARM_DSP

/* The rows of a column of the kernel that are in `a`, the upper pair, or in `b`, the lower one. */
#define CCML_DEPTHWISE_MAP_FIRST(upper, lower, a, w) \
    "smlad " upper ", " a ", " w ", r7\n" \
    "smlatb " lower ", " a ", " w ", r7\n"
#define CCML_DEPTHWISE_MAP_UPPER(upper, lower, a, w) \
    "smlad " upper ", " a ", " w ", " upper "\n" \
    "smlatb " lower ", " a ", " w ", " lower "\n"
#define CCML_DEPTHWISE_MAP_LOWER(upper, lower, b, w) \
    "smlabt " upper ", " b ", " w ", " upper "\n" \
    "smlad " lower ", " b ", " w ", " lower "\n"

/* Two rows of outputs at a time down two columns, then the next two; the pairs of rows of four columns in r8 to r11 are
   those above, until the sums have what they need of them, and then those below. x in r1, the places of the outputs in
   r2 and r3, the end of x in r12. In s0 the bytes of a pair of rows, s1 the bias, s2 to s4 (w0, w1) and s5 to s7
   (w1, w2) of the columns, s8 the factor, s9 the zero point, s10 the distance of pixels, s11 that of two rows, s12 and
   s13 x and y of the columns, s14 the columns left. On the stack: the stream, x and y of the channel, rows; behind the
   registers columns, distance of rows, channels left, bytes of the pairs above whole pairs of rows of outputs. An odd
   last row is the upper one of two at the same place. */
#define CCML_BLOCK_DEPTHWISE_MAP 1
CCML_NAKED ccml_depthwise_map(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t rows CCML_UNUSED,
    int32_t columns CCML_UNUSED, int32_t row CCML_UNUSED, int32_t step CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r0-r11, lr}\n"
        "ldrd r4, r5, [sp, #52]\n"
        "ldr r6, [sp, #60]\n"
        "ldr r7, [sp, #64]\n"
        "vmov s9, s10, r7, r6\n"
        "lsls r5, r5, #1\n"
        "vmov s11, r5\n"
        "adds r4, r4, #2\n"
        "lsls r4, r4, #4\n"
        "vmov s0, r4\n"
        "lsrs r3, r3, #1\n"
        "muls r4, r3, r4\n"
        "str r4, [sp, #64]\n"
        "movs r4, #4\n"
        "1:\n"
        "str r4, [sp, #60]\n"
        "ldr r0, [sp]\n"
        "ldm r0!, {r4, r5, r6, r7, r8}\n"
        "str r0, [sp]\n"
        "vmov s1, r4\n"
        "vmov s8, r8\n"
        "sxtb16 r0, r5\n"
        "sxtb16 r1, r6\n"
        "sxtb16 r2, r7\n"
        "vmov s2, s3, r0, r1\n"
        "sxtb16 r5, r5, ror #8\n"
        "vmov s4, s5, r2, r5\n"
        "sxtb16 r6, r6, ror #8\n"
        "sxtb16 r7, r7, ror #8\n"
        "vmov s6, s7, r6, r7\n"
        "ldrd r1, r2, [sp, #4]\n"
        "ldr r4, [sp, #52]\n"
        "2:\n"
        "vmov s12, s13, r1, r2\n"
        "vmov s14, r4\n"
        "ldr r8, [r1]\n"
        "ldr r9, [r1, #16]\n"
        "ldr r10, [r1, #32]\n"
        "ldr r12, [sp, #64]\n"
        "ldr r3, [sp, #56]\n"
        "add r12, r12, r1\n"
        "add r3, r3, r2\n"
        "cmp r4, #1\n"
        "beq 5f\n"
        "ldr r11, [r1, #48]\n"
        "3:\n"
        "vmov r6, r7, s0, s1\n"
        "add r1, r1, r6\n"
        "vmov r0, lr, s2, s3\n"
        CCML_DEPTHWISE_MAP_FIRST("r4", "r5", "r8", "r0")
        CCML_DEPTHWISE_MAP_FIRST("r6", "r7", "r9", "r0")
        CCML_DEPTHWISE_MAP_UPPER("r4", "r5", "r9", "lr")
        CCML_DEPTHWISE_MAP_UPPER("r6", "r7", "r10", "lr")
        "vmov r0, lr, s4, s5\n"
        CCML_DEPTHWISE_MAP_UPPER("r4", "r5", "r10", "r0")
        CCML_DEPTHWISE_MAP_UPPER("r6", "r7", "r11", "r0")
        "ldr r8, [r1]\n"
        "ldr r9, [r1, #16]\n"
        "ldr r10, [r1, #32]\n"
        "ldr r11, [r1, #48]\n"
        CCML_DEPTHWISE_MAP_LOWER("r4", "r5", "r8", "lr")
        CCML_DEPTHWISE_MAP_LOWER("r6", "r7", "r9", "lr")
        "vmov r0, lr, s6, s7\n"
        CCML_DEPTHWISE_MAP_LOWER("r4", "r5", "r9", "r0")
        CCML_DEPTHWISE_MAP_LOWER("r6", "r7", "r10", "r0")
        CCML_DEPTHWISE_MAP_LOWER("r4", "r5", "r10", "lr")
        CCML_DEPTHWISE_MAP_LOWER("r6", "r7", "r11", "lr")
        "vmov r0, lr, s8, s9\n"
        CCML_DEPTHWISE_BYTE("r4")
        CCML_DEPTHWISE_BYTE("r5")
        CCML_DEPTHWISE_BYTE("r6")
        CCML_DEPTHWISE_BYTE("r7")
        "vmov r0, lr, s10, s11\n"
        "strb r5, [r3]\n"
        "strb r7, [r3, r0]\n"
        "strb r4, [r2]\n"
        "strb r6, [r2, r0]\n"
        "add r2, r2, lr\n"
        "add r3, r3, lr\n"
        "cmp r1, r12\n"
        "bne 3b\n"
        "4:\n"
        "ldr r0, [sp, #12]\n"
        "lsls r0, r0, #31\n"
        "beq 6f\n"
        "cmp r2, r3\n"
        "beq 6f\n"
        "mov r3, r2\n"
        "vmov r0, s0\n"
        "add r12, r12, r0\n"
        "vmov r4, s14\n"
        "cmp r4, #1\n"
        "bne 3b\n"
        "5:\n" /* one column */
        "vmov r6, r7, s0, s1\n"
        "add r1, r1, r6\n"
        "vmov r0, lr, s2, s3\n"
        CCML_DEPTHWISE_MAP_FIRST("r4", "r5", "r8", "r0")
        CCML_DEPTHWISE_MAP_UPPER("r4", "r5", "r9", "lr")
        "vmov r0, lr, s4, s5\n"
        CCML_DEPTHWISE_MAP_UPPER("r4", "r5", "r10", "r0")
        "ldr r8, [r1]\n"
        "ldr r9, [r1, #16]\n"
        "ldr r10, [r1, #32]\n"
        CCML_DEPTHWISE_MAP_LOWER("r4", "r5", "r8", "lr")
        "vmov r0, lr, s6, s7\n"
        CCML_DEPTHWISE_MAP_LOWER("r4", "r5", "r9", "r0")
        CCML_DEPTHWISE_MAP_LOWER("r4", "r5", "r10", "lr")
        "vmov r0, lr, s8, s9\n"
        CCML_DEPTHWISE_BYTE("r4")
        CCML_DEPTHWISE_BYTE("r5")
        "vmov r0, s11\n"
        "strb r5, [r3]\n"
        "strb r4, [r2]\n"
        "add r2, r2, r0\n"
        "add r3, r3, r0\n"
        "cmp r1, r12\n"
        "bne 5b\n"
        "b 4b\n"
        "6:\n"
        "vmov r1, r2, s12, s13\n"
        "vmov r0, s10\n"
        "vmov r4, s14\n"
        "adds r1, r1, #32\n"
        "add r2, r2, r0, lsl #1\n"
        "subs r4, r4, #2\n"
        "bgt.w 2b\n"
        "ldrd r1, r2, [sp, #4]\n"
        "ldr r4, [sp, #60]\n"
        "adds r1, r1, #4\n"
        "adds r2, r2, #1\n"
        "strd r1, r2, [sp, #4]\n"
        "subs r4, r4, #1\n"
        "bne.w 1b\n"
        "add sp, sp, #16\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_MAP_FIRST
#undef CCML_DEPTHWISE_MAP_UPPER
#undef CCML_DEPTHWISE_MAP_LOWER
#endif

#endif
