/* Part of the ccml runtime: depthwise convolution, the pixels of a row for four channels at a time, by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_COLUMNS_H
#define CCML_HELIUM_DEPTHWISE_COLUMNS_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_HELIUM_COLUMNS_BIASES "ldm r5, {r0, r2, r4, r6}\n"
#define CCML_HELIUM_COLUMNS_TAPS(at) "vldrw.u32 q0, [q3, #" at "]\n"
#define CCML_HELIUM_COLUMNS_MOVE0 "vmov q1[2], q1[0], r0, r4\n"
#define CCML_HELIUM_COLUMNS_MOVE1 "vmov q1[3], q1[1], r2, r6\n"

#define CCML_HELIUM_COLUMNS_NEXT "vadd.i32 q3, q3, r9\n"
#define CCML_HELIUM_COLUMNS_STORE "vstrb.32 q1, [r7]\n"
#define CCML_HELIUM_COLUMNS_SCALE "vqrdmlash.s32 q1, q2, r12\n"

/* void f(const int32_t *w, const int8_t *x, int8_t *y, int32_t pixels, int32_t pixel_step, int32_t tap_step, int32_t taps,
   int32_t channels, int32_t zero_point).

   Even registers up to r6 hold sums; q4 to q7 are the weights of four channels and q2 their factors, q3 where the taps
   of the first channel are and q0 the taps of one; r5 is the tile in w, r7 y, r10 the first result of the tile, r8 and r9
   from pixel to pixel of y and x, r3 how far the words of the tile are behind those of the first, r1 pixels but for the
   first, r11 the channels of the tile, r12 the zero point. On the stack: where the taps of the first pixel are; the
   arguments from sp + 116 on. `taps0` to `taps3` load the taps of a channel, or are nothing where it sees those of the
   one before; `1 << tile` bytes lie between the words of tiles. `loop` is what all pixels but the first take: while one
   is multiplied, the sums of the one before become bytes; loads, moves and products are in an order in which the unit of
   each is seldom waited for. The last tile comes first: of its pixels but the last one four bytes are written even where
   there are fewer channels, for those behind them are results of other tiles. */
#define CCML_HELIUM_DEPTHWISE_COLUMNS(taps0, taps1, taps2, taps3, loop, tile) \
    __asm__ volatile( \
        ".syntax unified\n" \
        "push {r4-r11, lr}\n" \
        "vpush {d8-d15}\n" \
        "sub sp, sp, #16\n" \
        "ldr r4, [sp, #124]\n" \
        "sub r4, r4, #1\n" \
        "vdup.32 q1, r4\n" \
        "mov r4, #0\n" \
        "vidup.u32 q0, r4, #1\n" \
        "vmin.u32 q0, q0, q1\n" \
        "ldrd r9, r4, [sp, #116]\n" \
        "lsl r4, r4, #2\n" \
        "vmul.i32 q0, q0, r4\n" \
        "vadd.i32 q0, q0, r1\n" \
        "vstrw.32 q0, [sp]\n" \
        "mov r5, r0\n" \
        "mov r10, r2\n" \
        "sub r1, r3, #1\n" \
        "lsl r9, r9, #2\n" \
        "ldrd r8, r12, [sp, #128]\n" \
        "sub r3, r8, #1\n" \
        "lsr r3, r3, #2\n" \
        "sub r11, r8, r3, lsl #2\n" \
        "add r10, r10, r3, lsl #2\n" \
        "add r4, r3, r3, lsl #1\n" \
        "add r5, r5, r4, lsl #5\n" \
        "lsl r3, r3, #" tile "\n" \
        "1:\n" \
        "vldrw.u32 q3, [sp]\n" \
        "mov r7, r10\n" \
        "vldrb.u8 q4, [r5, #16]\n" \
        "vadd.i32 q3, q3, r3\n" CCML_HELIUM_COLUMNS_BIASES \
        taps0 \
        "vctp.32 r11\n" \
        CCML_HELIUM_DOT("r0", "q0", "q4") \
        "vldrb.u8 q5, [r5, #32]\n" \
        taps1 \
        CCML_HELIUM_DOT("r2", "q0", "q5") \
        "vldrb.u8 q6, [r5, #48]\n" \
        taps2 \
        CCML_HELIUM_DOT("r4", "q0", "q6") \
        "vldrb.u8 q7, [r5, #64]\n" \
        taps3 \
        CCML_HELIUM_DOT("r6", "q0", "q7") \
        "vldrw.u32 q2, [r5, #80]\n" \
        "vadd.i32 q3, q3, r9\n" \
        "wls lr, r1, 3f\n" \
        "2:\n" loop "le lr, 2b\n" \
        "3:\n" CCML_HELIUM_COLUMNS_MOVE0 CCML_HELIUM_COLUMNS_MOVE1 \
        "vqrdmlash.s32 q1, q2, r12\n" \
        "sub r5, r5, #96\n" \
        "vqmovnb.s32 q1, q1\n" \
        "sub r10, r10, #4\n" \
        "vqmovnb.s16 q1, q1\n" \
        "mov r11, #4\n" \
        "subs r3, r3, #1 << " tile "\n" \
        "vpst\n" \
        "vstrbt.32 q1, [r7]\n" \
        "bpl.w 1b\n" \
        "add sp, sp, #16\n" \
        "vpop {d8-d15}\n" \
        "pop {r4-r11, pc}\n")
#endif

#endif
