/* Part of the ccml runtime: depthwise convolutions with any kernel, from staged rows.

   x has for each row, group of four channels and pair of columns a word for each channel: the pair. w has for each
   channel a bias, and for each row and each pair of columns under an output the bytes (e0, o0, e1, o1): the weights of
   the pair for outputs at even and at odd columns. There are pairs for a multiple of four outputs.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_WINDOW_H
#define CCML_DEPTHWISE_WINDOW_H

#include "ccml_depthwise_rounded.h"

#if CCML_ARM_DSP

/* The pair of columns at r1 + `at` for the outputs of two columns. */
#define CCML_DEPTHWISE_WINDOW_TAPS(at, even, odd) \
    "ldr r12, [r1, #" #at "]\n" \
    "smlad " even ", r12, r2, " even "\n" \
    "smlad " odd ", r12, r3, " odd "\n"

/* Outputs from r4 on, for all rows; `more` is what is done for all but the first two. Behind it r0 and s14 are at the end
   of the channel's weights. */
#define CCML_DEPTHWISE_WINDOW_SUMS(more) \
    "vmov r0, r1, s0, s1\n" \
    "vmov r12, s5\n" \
    "vmov s6, r12\n" \
    "4:\n" \
    "vmov lr, s4\n" \
    "5:\n" \
    "ldr r2, [r0], #4\n" \
    "sxtb16 r3, r2, ror #8\n" \
    "sxtb16 r2, r2\n" \
    more \
    "ldr r12, [r1], #16\n" \
    "smlad r4, r12, r2, r4\n" \
    "smlad r5, r12, r3, r5\n" \
    "subs lr, lr, #1\n" \
    "bne 5b\n" \
    "vmov r2, r3, s6, s7\n" \
    "add r1, r1, r3\n" \
    "subs r2, r2, #1\n" \
    "vmov s6, r2\n" \
    "bne 4b\n" \
    "vmov s14, r0\n"

/* The channels of r3 groups, outputs of which there are r5, by r8 rows of r9 words. In s0 the weights, s1 the place in x,
   s2 the bias, s3 the outputs left, s4 words of a row, s5 rows (s6: left), s7 bytes from behind the words of a row to the
   next row, s8 the place in y, s9 the outputs of a channel, s10 its place in x, s11 that in y, s12 channels left, s13
   bytes from a group to the next. `eight` stores eight results at s8 and moves it, `rest` up to four; `next_channel` sets
   s0 and moves r1, the place in y. */
#define CCML_DEPTHWISE_WINDOW(eight, rest, next_channel) \
    "vmov s1, r1\n" \
    "vmov s10, r1\n" \
    "vmov s8, r2\n" \
    "vmov s11, r2\n" \
    "vmov s0, r0\n" \
    "lsl r4, r3, #2\n" \
    "vmov s9, r5\n" \
    "vmov s4, s5, r9, r8\n" \
    "add r6, r5, #3\n" \
    "lsr r6, r6, #2\n" \
    "add r6, r9, r6, lsl #1\n" \
    "sub r6, r6, #1\n" \
    "lsl r6, r6, #4\n" \
    "vmov s12, s13, r4, r6\n" \
    "mul r6, r6, r3\n" \
    "sub r6, r6, r9, lsl #4\n" \
    "vmov s7, r6\n" \
    "1:\n" \
    "vmov r0, s0\n" \
    "ldr r1, [r0], #4\n" \
    "vmov s2, r1\n" \
    "vmov s0, r0\n" \
    "vmov r0, s9\n" \
    "2:\n" \
    "vmov s3, r0\n" \
    "vmov r4, s2\n" \
    "mov r5, r4\n" \
    "mov r6, r4\n" \
    "mov r7, r4\n" \
    "cmp r0, #4\n" \
    "ble 7f\n" \
    "mov r8, r4\n" \
    "mov r9, r4\n" \
    "mov r10, r4\n" \
    "mov r11, r4\n" \
    CCML_DEPTHWISE_WINDOW_SUMS( \
        CCML_DEPTHWISE_WINDOW_TAPS(16, "r6", "r7") CCML_DEPTHWISE_WINDOW_TAPS(32, "r8", "r9") \
        CCML_DEPTHWISE_WINDOW_TAPS(48, "r10", "r11")) \
    eight \
    "vmov r1, s1\n" \
    "vmov r0, s3\n" \
    "add r1, r1, #64\n" \
    "vmov s1, r1\n" \
    "subs r0, r0, #8\n" \
    "bgt 2b\n" \
    "b 9f\n" \
    "7:\n" \
    CCML_DEPTHWISE_WINDOW_SUMS(CCML_DEPTHWISE_WINDOW_TAPS(16, "r6", "r7")) \
    rest \
    "9:\n" \
    "vmov r0, r1, s10, s11\n" \
    "vmov r2, r3, s12, s13\n" \
    "subs r2, r2, #1\n" \
    "add r0, r0, #4\n" \
    "tst r2, #3\n" \
    "itt eq\n" \
    "addeq r0, r0, r3\n" \
    "subeq r0, r0, #16\n" \
    next_channel \
    "vmov s1, r0\n" \
    "vmov s10, r0\n" \
    "vmov s8, r1\n" \
    "vmov s11, r1\n" \
    "vmov s12, r2\n" \
    "cmp r2, #0\n" \
    "bne 1b\n"
#endif

#endif
