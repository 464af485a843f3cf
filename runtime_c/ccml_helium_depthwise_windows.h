/* Part of the ccml runtime: depthwise convolution with large kernels, two pixels of a row at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_WINDOWS_H
#define CCML_HELIUM_DEPTHWISE_WINDOWS_H

#include "ccml_helium_depthwise.h"

#if CCML_HELIUM
/* Sixteen products for one channel of both pixels. */
#define CCML_HELIUM_WINDOWS_CHANNEL(offsets, sum0, sum1) \
    "vldrw.u32 q0, [r1, " offsets "]\n" \
    CCML_HELIUM_LOAD("q1", "r5") \
    CCML_HELIUM_DOT(sum0, "q0", "q1") \
    "vldrw.u32 q2, [r3, " offsets "]\n" \
    CCML_HELIUM_DOT(sum1, "q2", "q1")

/* Even registers and lr hold sums, those of the first pixel in r0 to r6; r1 and r3 are the words of both, r5 weights, r7
   counts blocks and r11 groups, r9 is from block to block; q4 to q7 where the taps of four channels are, q3 the least
   result. On the stack: words of both pixels, y, how far the second is from it, channels left, pixels left, from the last
   block of a group to the next group, w, words of the first pixel; the arguments from sp + 136 on: group_step, tap_step,
   pixels, pixel_step, channels, zero_point, lo, and in front of them groups and blocks. */
#define CCML_BLOCK_HELIUM_DEPTHWISE_WINDOWS 1
CCML_NAKED ccml_helium_depthwise_windows(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t blocks CCML_UNUSED, int32_t group_step CCML_UNUSED, int32_t tap_step CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED,
    int32_t lo CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "vpush {d8-d15}\n"
        "sub sp, sp, #44\n"
        "ldr r4, [sp, #172]\n"
        "vdup.8 q3, r4\n"
        "mov r4, #0\n"
        "vidup.u32 q4, r4, #1\n"
        "ldr r4, [sp, #152]\n"
        "lsl r4, r4, #2\n"
        "vmul.i32 q4, q4, r4\n"
        "mov r5, #4\n"
        "vadd.i32 q5, q4, r5\n"
        "vadd.i32 q6, q5, r5\n"
        "vadd.i32 q7, q6, r5\n"
        "lsl r4, r4, #2\n"
        "ldrd r5, r6, [sp, #144]\n"
        "mul r5, r5, r4\n"
        "rsb r6, r5, r6, lsl #2\n"
        "strd r6, r0, [sp, #24]\n"
        "strd r3, r4, [sp, #36]\n"
        "ldr r6, [sp, #156]\n"
        "1:\n"
        "ldrd r4, r7, [sp, #160]\n"
        "str r7, [sp, #16]\n"
        "lsl r4, r4, #2\n"
        "cmp r6, #1\n"
        "itt eq\n"
        "moveq r4, #0\n"
        "moveq r7, #0\n"
        "add r3, r1, r4\n"
        "str r1, [sp, #32]\n"
        "strd r1, r3, [sp]\n"
        "strd r2, r7, [sp, #8]\n"
        "str r6, [sp, #20]\n"
        "ldr r5, [sp, #28]\n"
        "2:\n"
        "ldm r5, {r0, r2, r4, r6}\n"
        "ldm r5!, {r8, r10, r12, lr}\n"
        "ldrd r1, r3, [sp]\n"
        "ldrd r11, r9, [sp, #36]\n"
        "3:\n"
        "ldr r7, [sp, #144]\n"
        "4:\n" CCML_HELIUM_WINDOWS_CHANNEL("q4", "r0", "r8") CCML_HELIUM_WINDOWS_CHANNEL("q5", "r2", "r10")
            CCML_HELIUM_WINDOWS_CHANNEL("q6", "r4", "r12") CCML_HELIUM_WINDOWS_CHANNEL("q7", "r6", "lr")
        "add r1, r1, r9\n"
        "add r3, r3, r9\n"
        "subs r7, r7, #1\n"
        "bne 4b\n"
        "ldr r7, [sp, #24]\n"
        "add r1, r1, r7\n"
        "add r3, r3, r7\n"
        "subs r11, r11, #1\n"
        "bne.w 3b\n"
        "vldrw.u32 q2, [r5], #16\n"
        CCML_HELIUM_REQUANTIZE(
            "vmov q0[2], q0[0], r0, r4\n"
            "vmov q0[3], q0[1], r2, r6\n"
            "ldr r2, [sp, #168]\n",
            "vmov q1[2], q1[0], r8, r12\n",
            "vmov q1[3], q1[1], r10, lr\n",
            "q2", "q2", "ldrd r7, r9, [sp, #8]\n", "ldr r11, [sp, #16]\n", "add r0, r7, r9\n", "r2", "q3")
        "vshr.u32 q1, q0, #16\n"
        "vctp.32 r11\n"
        "vpstt\n"
        "vstrbt.32 q1, [r0]\n"
        "vstrbt.32 q0, [r7], #4\n"
        "str r7, [sp, #8]\n"
        "ldrd r1, r3, [sp]\n"
        "add r1, r1, #16\n"
        "add r3, r3, #16\n"
        "strd r1, r3, [sp]\n"
        "subs r11, r11, #4\n"
        "str r11, [sp, #16]\n"
        "bgt.w 2b\n"
        "add r2, r7, r11\n"
        "ldrd r4, r7, [sp, #160]\n"
        "add r2, r2, r7\n"
        "ldr r1, [sp, #32]\n"
        "add r1, r1, r4, lsl #3\n"
        "ldr r6, [sp, #20]\n"
        "subs r6, r6, #2\n"
        "bgt.w 1b\n"
        "add sp, sp, #44\n"
        "vpop {d8-d15}\n"
        "pop {r4-r11, pc}\n");
}
#endif

#endif
