/* Part of the ccml runtime: outputs of a depthwise convolution with any kernel, from staged windows to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_WINDOW_ROUNDED_H
#define CCML_DEPTHWISE_WINDOW_ROUNDED_H

#include "ccml_depthwise_window.h"

#if CCML_ARM_DSP

/* The sum in `acc` by a factor. */
#define CCML_DEPTHWISE_WINDOW_BYTE(acc, factor, zero_point) \
    "smmlar " acc ", " acc ", " factor ", " zero_point "\n" \
    "ssat " acc ", #8, " acc "\n"

/* Four bytes that are neighbours, as `stored` of what follows. */
#define CCML_DEPTHWISE_WINDOW_WORD \
    "bfi r4, r5, #8, #8\n" \
    "bfi r6, r7, #8, #8\n" \
    "ldm sp, {r0, r2, r3, r8, r9}\n" \
    "pkhbt r4, r4, r6, lsl #16\n" \
    "str r4, [r2]\n"

/* The whole function. `entry` may change r12, for what it takes of arguments from sp + 88 on. `stored` puts the bytes in
   r4 to r7 where the output of the place in sp + 4 is, and leaves the words from sp to sp + 16 in r0, r2, r3, r8 and r9;
   `next` moves r2 to the next four channels and may change r12.
   In s1 the zero point, s2 the bytes from the first output behind the last, s3 the bytes of a group's weights up to its
   last tap. On the stack from sp on: weights of the group, y, distance of outputs, distance from the last tap of a window
   to the next window, end of y, groups left, first window and first output of the group. */
#define CCML_DEPTHWISE_WINDOW_ROUNDED(entry, stored, next) \
    ".syntax unified\n" \
    ".p2align 2\n" \
    "push {r4-r11, lr}\n" \
    "sub sp, sp, #32\n" \
    entry \
    "ldrd r4, r5, [sp, #68]\n" \
    "ldrd r6, r7, [sp, #76]\n" \
    "ldr r8, [sp, #84]\n" \
    CCML_DEPTHWISE_WINDOW_ENTRY \
    "lsl r10, r5, #4\n" \
    "add r10, r10, #16\n" \
    "vmov s3, r10\n" \
    "sub r6, r6, r9, lsl #7\n" \
    "mul r4, r4, r7\n" \
    "vmov s1, s2, r8, r4\n" \
    "strd r7, r6, [sp, #8]\n" \
    "5:\n" \
    "vmov r4, s2\n" \
    "add r4, r4, r2\n" \
    "strd r0, r2, [sp]\n" \
    "strd r4, r3, [sp, #16]\n" \
    "strd r1, r2, [sp, #24]\n" \
    "1:\n" \
    CCML_DEPTHWISE_WINDOW_SUMS \
    "ldm r0, {r8-r11}\n" \
    "vmov r12, s1\n" \
    CCML_DEPTHWISE_WINDOW_BYTE("r4", "r8", "r12") CCML_DEPTHWISE_WINDOW_BYTE("r5", "r9", "r12") \
    CCML_DEPTHWISE_WINDOW_BYTE("r6", "r10", "r12") CCML_DEPTHWISE_WINDOW_BYTE("r7", "r11", "r12") \
    stored \
    "add r2, r2, r3\n" \
    "str r2, [sp, #4]\n" \
    "add r1, r1, r8\n" \
    "cmp r2, r9\n" \
    "bne 1b\n" \
    "ldrd r3, r1, [sp, #20]\n" \
    "ldr r2, [sp, #28]\n" \
    "add r0, lr, #24\n" \
    "vmov r8, s3\n" \
    "add lr, r0, r8\n" \
    "add r1, r1, #4\n" \
    next \
    "subs r3, r3, #1\n" \
    "bne 5b\n" \
    "add sp, sp, #32\n" \
    "pop {r4-r11, pc}\n"
#endif

#endif
