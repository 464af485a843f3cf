/* Part of the ccml runtime: depthwise convolution of interleaved rows, four channels of two outputs at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_H
#define CCML_HELIUM_DEPTHWISE_H

#include "ccml_helium.h"

#if CCML_HELIUM

/* void f(const int32_t *w, const int8_t *x, int8_t *y, ..., tap_step, taps, channels, zero_point, ...), of which those that are
   named are at `sp` and the places of their names; `limits` brings the least result to q3 where there is one, `setup` leaves pixels in r4 and pixel_step in r5.

   Even registers and lr hold sums, those of the first output in r0 to r6; r1 and r3 are the words of both, r5 weights,
   r7 the first output, r9 how far the second is from it, r11 the channels left; q4 to q7 where the taps of four channels
   are, q3 the least result. On the stack: words, pixels left, w, bytes to the next words. `begin` prepares the outputs at
   r1, whose number it leaves in r6, `channel(offsets, sum0, sum1)` multiplies, `move` goes on to the next four channels,
   `load` brings the zero point into the register `zero` (where the sums no longer need one) for
   `requantize`, and `behind` goes to the next outputs (from the end of the last in r7), with flags that say whether there
   are any. */
#define CCML_HELIUM_DEPTHWISE( \
    setup, tap_step, taps, channels, limits, begin, channel, move, load, requantize, zero, behind) \
    __asm__ volatile( \
        ".syntax unified\n" \
        "push {r4-r11, lr}\n" \
        "vpush {d8-d15}\n" \
        "sub sp, sp, #16\n" \
        limits \
        "ldr r4, [sp, #" taps "]\n" \
        "sub r4, r4, #1\n" \
        "vdup.32 q5, r4\n" \
        "mov r4, #0\n" \
        "vidup.u32 q4, r4, #1\n" \
        "vmin.u32 q4, q4, q5\n" \
        "ldr r4, [sp, #" tap_step "]\n" \
        "lsl r4, r4, #2\n" \
        "vmul.i32 q4, q4, r4\n" \
        "mov r4, #4\n" \
        "vadd.i32 q5, q4, r4\n" \
        "vadd.i32 q6, q5, r4\n" \
        "vadd.i32 q7, q6, r4\n" \
        setup \
        "lsl r5, r5, #2\n" \
        "strd r1, r4, [sp]\n" \
        "strd r0, r5, [sp, #8]\n" \
        "mov r7, r2\n" \
        "1:\n" \
        begin \
        "ldr r5, [sp, #8]\n" \
        "ldr r11, [sp, #" channels "]\n" \
        "2:\n" \
        "ldm r5, {r0, r2, r4, r6}\n" \
        "ldm r5!, {r8, r10, r12, lr}\n" \
        channel("q4", "r0", "r8") \
        channel("q5", "r2", "r10") \
        channel("q6", "r4", "r12") \
        channel("q7", "r6", "lr") \
        move \
        "vldrw.u32 q2, [r5], #16\n" \
        requantize( \
            "vmov q0[2], q0[0], r0, r4\n" \
            "vmov q0[3], q0[1], r2, r6\n" load, \
            "vmov q1[2], q1[0], r8, r12\n", \
            "vmov q1[3], q1[1], r10, lr\n", \
            "q2", "q2", "add r0, r7, r9\n", "vctp.32 r11\n", "subs r11, r11, #4\n", zero, "q3") \
        "vshr.u32 q1, q0, #16\n" \
        "vpstt\n" \
        "vstrbt.32 q1, [r0]\n" \
        "vstrbt.32 q0, [r7], #4\n" \
        "bgt 2b\n" \
        "add r7, r7, r11\n" \
        behind \
        "bgt 1b\n" \
        "add sp, sp, #16\n" \
        "vpop {d8-d15}\n" \
        "pop {r4-r11, pc}\n")

/* The least result, an argument at `sp` and this place. */
#define CCML_HELIUM_LEAST(lo) \
    "ldr r4, [sp, #" lo "]\n" \
    "vdup.8 q3, r4\n"
#endif

#endif
