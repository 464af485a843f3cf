/* Part of the ccml runtime: depthwise convolution with large kernels, two pixels of a row at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_WINDOWS_H
#define CCML_HELIUM_DEPTHWISE_WINDOWS_H

#include "ccml_helium.h"

#if CCML_HELIUM
/* Sixteen products for one channel of both pixels; the weights in `w` are those of the channel after the next then. */
#define CCML_HELIUM_WINDOWS_CHANNEL(at, sum0, sum1, w, load) \
    "vldrw.u32 q6, [q3, #" at "]\n" \
    CCML_HELIUM_DOT(sum0, "q6", w) \
    "vldrw.u32 q6, [q7, #" at "]\n" \
    CCML_HELIUM_DOT(sum1, "q6", w) \
    load

/* Even registers and lr hold sums, those of the first pixel in r0 to r6; r1 is the words of the tile, r9 how far those of
   the second pixel are from these, r3 the offsets, r5 weights, r11 counts steps; q3 and q7 where the taps of both pixels
   are, q6 these taps, q4 and q5 weights. On the stack: r1 and r9, y, how far the second pixel is from it, channels left,
   pixels left, w, offsets, words of the first pixel; the arguments from sp + 136 on: steps, reach, pixels, pixel_step,
   channels, apart, zero_point, lo. `results` makes the bytes of both pixels from the sums and the factors in q2. */
#define CCML_HELIUM_WINDOWS(results) \
    __asm__ volatile( \
        ".syntax unified\n" \
        "push {r4-r11, lr}\n" \
        "vpush {d8-d15}\n" \
        "sub sp, sp, #36\n" \
        "strd r0, r1, [sp, #24]\n" \
        "str r2, [sp, #32]\n" \
        "ldr r6, [sp, #144]\n" \
        "1:\n" \
        "str r6, [sp, #20]\n" \
        "ldrd r4, r7, [sp, #148]\n" \
        "str r7, [sp, #16]\n" \
        "ldr r7, [sp, #156]\n" \
        "lsl r4, r4, #2\n" \
        "cmp r6, #1\n" \
        "itt eq\n" \
        "moveq r4, #0\n" \
        "moveq r7, #0\n" \
        "ldr r2, [sp, #32]\n" \
        "strd r2, r4, [sp]\n" \
        "strd r3, r7, [sp, #8]\n" \
        "ldr r5, [sp, #24]\n" \
        "2:\n" \
        "ldrd r1, r9, [sp]\n" \
        "ldm r5, {r0, r2, r4, r6}\n" \
        "ldm r5!, {r8, r10, r12, lr}\n" \
        "ldr r3, [sp, #28]\n" \
        "ldr r11, [sp, #136]\n" \
        "3:\n" \
        "vldrw.u32 q3, [r3], #16\n" \
        "vadd.i32 q3, q3, r1\n" \
        "vldrb.u8 q4, [r5], #16\n" \
        "vadd.i32 q7, q3, r9\n" \
        "vldrb.u8 q5, [r5], #16\n" \
        CCML_HELIUM_WINDOWS_CHANNEL("0", "r0", "r8", "q4", CCML_HELIUM_LOAD("q4", "r5")) \
        CCML_HELIUM_WINDOWS_CHANNEL("4", "r2", "r10", "q5", CCML_HELIUM_LOAD("q5", "r5")) \
        CCML_HELIUM_WINDOWS_CHANNEL("8", "r4", "r12", "q4", "subs r11, r11, #1\n") \
        CCML_HELIUM_WINDOWS_CHANNEL("12", "r6", "lr", "q5", "") \
        "bne 3b\n" \
        "vldrw.u32 q2, [r5], #16\n" \
        results \
        "vshr.u32 q1, q0, #16\n" \
        "vctp.32 r11\n" \
        "add r0, r7, r9\n" \
        "vpstt\n" \
        "vstrbt.32 q1, [r0]\n" \
        "vstrbt.32 q0, [r7], #4\n" \
        "ldr r1, [sp]\n" \
        "str r7, [sp, #8]\n" \
        "add r1, r1, #16\n" \
        "str r1, [sp]\n" \
        "subs r11, r11, #4\n" \
        "str r11, [sp, #16]\n" \
        "bgt.w 2b\n" \
        "add r3, r7, r11\n" \
        "ldrd r4, r7, [sp, #148]\n" \
        "ldr r1, [sp, #156]\n" \
        "sub r3, r3, r7\n" \
        "add r3, r3, r1, lsl #1\n" \
        "ldr r1, [sp, #32]\n" \
        "add r1, r1, r4, lsl #3\n" \
        "str r1, [sp, #32]\n" \
        "ldr r6, [sp, #20]\n" \
        "subs r6, r6, #2\n" \
        "bgt.w 1b\n" \
        "add sp, sp, #36\n" \
        "vpop {d8-d15}\n" \
        "pop {r4-r11, pc}\n")

#define CCML_HELIUM_WINDOWS_MOVES0 "vmov q0[2], q0[0], r0, r4\n" "vmov q0[3], q0[1], r2, r6\n"
#define CCML_HELIUM_WINDOWS_MOVES1 "vmov q1[2], q1[0], r8, r12\n"
#define CCML_HELIUM_WINDOWS_MOVES2 "vmov q1[3], q1[1], r10, lr\n"

#define CCML_BLOCK_HELIUM_DEPTHWISE_WINDOWS 1
CCML_NAKED ccml_helium_depthwise_windows(
    const int32_t *w CCML_UNUSED, const int32_t *offsets CCML_UNUSED, const int8_t *x CCML_UNUSED,
    int8_t *y CCML_UNUSED, int32_t steps CCML_UNUSED, int32_t reach CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t apart CCML_UNUSED,
    int32_t zero_point CCML_UNUSED, int32_t lo CCML_UNUSED)
{
    CCML_HELIUM_WINDOWS(
        "ldrd r3, r1, [sp, #160]\n"
        "vdup.8 q6, r1\n"
        CCML_HELIUM_REQUANTIZE(
            CCML_HELIUM_WINDOWS_MOVES0, CCML_HELIUM_WINDOWS_MOVES1, CCML_HELIUM_WINDOWS_MOVES2, "q2", "q2",
            "ldrd r7, r9, [sp, #8]\n", "ldr r11, [sp, #16]\n", "", "r3", "q6"));
}
#endif

#endif
