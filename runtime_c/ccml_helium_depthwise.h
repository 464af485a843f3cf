/* Part of the ccml runtime: depthwise convolution of interleaved rows, four channels of two outputs at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_H
#define CCML_HELIUM_DEPTHWISE_H

#include "ccml_helium.h"

#if CCML_HELIUM

/* void f(const int32_t *w, const int8_t *x, int8_t *y, ..., tap_step, taps, channels, zero_point, ...), of which those
   that are named are at `sp` and the places of their names; `setup` leaves the outputs in r4, the bytes from their words
   to the next in r6, the first result of the second output in r1 and the zero point in r3.

   Even registers and lr hold sums, those of the first output in r0 to r6; r7 and r1 are the results of both, r5 weights,
   r9 their beginning, r11 the channels left; q3 where the taps of the four channels before are, q6 these taps, q4 and q5
   weights, q2 factors. On the stack: where the first taps of the next outputs are, less 16, outputs left. `begin`
   prepares outputs, with their taps in q3 and the channels in r11, and keeps q4 and q5; `tile` multiplies and makes
   results, with the outputs in bytes 0 and 2 of the words of q0, flags that say whether channels are left, and biases and
   weights of the next tile loaded, the first one behind the last: `channel(at, sums, weights, early, load)` gathers and
   multiplies, with what may stand in between; `behind` goes to the next outputs, with flags that say whether there are
   any. Loads and arithmetic take turns, two cycles each and four for taps; the first and third channel come first, as
   their sums are moved together. */
#define CCML_HELIUM_DEPTHWISE(setup, tap_step, taps, begin, tile, behind) \
    __asm__ volatile( \
        ".syntax unified\n" \
        "push {r4-r11, lr}\n" \
        "vpush {d8-d15}\n" \
        "sub sp, sp, #20\n" \
        "ldr r4, [sp, #" taps "]\n" \
        "sub r4, r4, #1\n" \
        "vdup.32 q1, r4\n" \
        "mov r4, #0\n" \
        "vidup.u32 q0, r4, #1\n" \
        "vmin.u32 q0, q0, q1\n" \
        "ldr r4, [sp, #" tap_step "]\n" \
        "lsl r4, r4, #2\n" \
        "vmul.i32 q0, q0, r4\n" \
        "sub r1, r1, #16\n" \
        "vadd.i32 q0, q0, r1\n" \
        "vstrw.32 q0, [sp]\n" \
        "mov r5, r0\n" \
        "mov r9, r0\n" \
        "mov r7, r2\n" \
        setup \
        "str r4, [sp, #16]\n" CCML_HELIUM_DEPTHWISE_AHEAD0 CCML_HELIUM_DEPTHWISE_AHEAD1 CCML_HELIUM_DEPTHWISE_AHEAD2 \
        CCML_HELIUM_DEPTHWISE_AHEAD3 \
        "1:\n" \
        "vldrw.u32 q3, [sp]\n" \
        begin \
        "2:\n" \
        tile \
        "vshr.u32 q1, q0, #16\n" \
        "vpstt\n" \
        "vstrbt.32 q0, [r7], #4\n" \
        "vstrbt.32 q1, [r1], #4\n" \
        "bgt 2b\n" \
        behind \
        "bgt 1b\n" \
        "add sp, sp, #20\n" \
        "vpop {d8-d15}\n" \
        "pop {r4-r11, pc}\n")

/* Biases and the first and third weights of a tile. */
#define CCML_HELIUM_DEPTHWISE_AHEAD0 "ldm r5, {r0, r2, r4, r6}\n"
#define CCML_HELIUM_DEPTHWISE_AHEAD1 "ldm r5!, {r8, r10, r12, lr}\n"
#define CCML_HELIUM_DEPTHWISE_AHEAD2 "vldrb.u8 q4, [r5], #16\n"
#define CCML_HELIUM_DEPTHWISE_AHEAD3 "vldrb.u8 q5, [r5, #16]\n"

/* A tile: `channel` and `finish` one behind the other. */
#define CCML_HELIUM_DEPTHWISE_TILE(channel, finish) \
    channel("#16]!", "r0", "r8", "q4", "", "vldrw.u32 q2, [r5, #48]\n") \
    channel("#8]", "r4", "r12", "q5", "", "vldrb.u8 q4, [r5], #32\n") \
    channel("#4]", "r2", "r10", "q4", "vmov q0[2], q0[0], r0, r4\n", "vldrb.u8 q5, [r5], #32\n") \
    channel("#12]", "r6", "lr", "q5", "vmov q1[2], q1[0], r8, r12\n", "vctp.32 r11\n") \
    "subs r11, r11, #4\n" \
    finish

/* By scales; the least result is an argument at `sp` and the place `lo`. */
#define CCML_HELIUM_DEPTHWISE_SCALED(lo) \
    "vmov q0[3], q0[1], r2, r6\n" \
    "csel r5, r9, r5, le\n" \
    "vmov q1[3], q1[1], r10, lr\n" \
    "vcvt.f32.s32 q0, q0\n" \
    "ldr r0, [sp, #" lo "]\n" \
    "vdup.8 q6, r0\n" \
    "vmul.f32 q0, q0, q2\n" \
    "vcvt.f32.s32 q1, q1\n" CCML_HELIUM_DEPTHWISE_AHEAD0 \
    "vcvtn.s32.f32 q0, q0\n" \
    "vmul.f32 q1, q1, q2\n" CCML_HELIUM_DEPTHWISE_AHEAD1 \
    "vqmovnb.s32 q0, q0\n" \
    "vcvtn.s32.f32 q1, q1\n" CCML_HELIUM_DEPTHWISE_AHEAD2 \
    "vqmovnt.s32 q0, q1\n" CCML_HELIUM_DEPTHWISE_AHEAD3 \
    "vqadd.s16 q0, q0, r3\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vmax.s8 q0, q0, q6\n"
#endif

#endif
