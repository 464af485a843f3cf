/* Part of the ccml runtime: one pixel, widened on the way, by all channels, eight channels at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_SINGLE_H
#define CCML_SINGLE_H

#include "ccml_tile.h"

#if CCML_ARM_DSP

/* Four products for one channel of the pixel whose activations are in r2 and r3. */
#define CCML_SINGLE_CHANNEL(acc) \
    CCML_WEIGHTS \
    "smlad " acc ", r11, r2, " acc "\n" \
    "smlad " acc ", r10, r3, " acc "\n"

#define CCML_SINGLE_PIXEL \
    "ldr r3, [r1], #4\n" \
    "sxtb16 r2, r3\n" \
    "sxtb16 r3, r3, ror #8\n"

/* 43 instructions of four bytes each. */
#define CCML_SINGLE_EIGHT \
    CCML_SINGLE_PIXEL CCML_SINGLE_CHANNEL("r4") CCML_SINGLE_CHANNEL("r5") CCML_SINGLE_CHANNEL("r6") \
    CCML_SINGLE_CHANNEL("r7") CCML_SINGLE_CHANNEL("r8") CCML_SINGLE_CHANNEL("r9") CCML_SINGLE_CHANNEL("r12") \
    CCML_SINGLE_CHANNEL("lr")

/* void f(const int32_t *w, const int8_t *x, T *y, int32_t groups, int32_t channels), where result(acc) stores an
   accumulator at r11. On the stack from sp on: x, entry of a tile, y, end of x, tiles left, channels left. */
#define CCML_SINGLE(result) \
    __asm__ volatile( \
        ".syntax unified\n" \
        "push {r4-r11, lr}\n" \
        "sub sp, sp, #24\n" \
        "ldr r5, [sp, #60]\n" \
        "mov r4, r3\n" \
        CCML_ENTRY("3f", 2, 172) \
        "strd r1, r7, [sp]\n" \
        "add r6, r1, r4, lsl #2\n" \
        "strd r2, r6, [sp, #8]\n" \
        "and r7, r5, #7\n" \
        "lsrs r6, r5, #3\n" \
        "strd r6, r7, [sp, #16]\n" \
        "beq 4f\n" \
        "1:\n" \
        "ldm r0!, {r4-r9, r12, lr}\n" \
        "ldrd r1, r10, [sp]\n" \
        "bx r10\n" \
        "2:\n" CCML_SINGLE_EIGHT CCML_SINGLE_EIGHT \
        "3:\n" \
        "ldr r10, [sp, #12]\n" \
        "cmp r1, r10\n" \
        "bne.w 2b\n" \
        "ldr r11, [sp, #8]\n" \
        result("r4") result("r5") result("r6") result("r7") result("r8") result("r9") result("r12") result("lr") \
        "ldr r2, [sp, #16]\n" \
        "str r11, [sp, #8]\n" \
        "subs r2, r2, #1\n" \
        "str r2, [sp, #16]\n" \
        "bne.w 1b\n" \
        "4:\n" \
        "ldr r12, [sp, #20]\n" \
        "cmp r12, #0\n" \
        "beq.w 7f\n" \
        "ldrd r5, r6, [sp, #8]\n" \
        "5:\n" \
        "ldr r4, [r0], #4\n" \
        "ldr r1, [sp]\n" \
        "6:\n" CCML_SINGLE_PIXEL CCML_SINGLE_CHANNEL("r4") \
        "cmp r1, r6\n" \
        "bne 6b\n" \
        "mov r11, r5\n" \
        result("r4") \
        "mov r5, r11\n" \
        "subs r12, r12, #1\n" \
        "bne 5b\n" \
        "7:\n" \
        "add sp, sp, #24\n" \
        "pop {r4-r11, pc}\n")

#else

/* A function body with the parameters above; result(acc, constants) makes an output, `extra` are the words of
   constants that follow for each channel. */
#define CCML_SINGLE(result, extra) \
    for (int32_t first = 0, tile; first < channels; first += tile) { \
        tile = channels - first < 8 ? 1 : 8; \
        const int32_t *constants = w + tile * (1 + groups); \
        for (int32_t c = 0; c < tile; ++c) { \
            int32_t acc = w[c]; \
            for (int32_t g = 0; g < groups; ++g) { \
                const int32_t four = ccml_four_bytes(&x[4 * g]); \
                const int32_t weights = w[tile + g * tile + c]; \
                acc = ccml_i32_dot2_i16i16(acc, ccml_i32_widen_even(four), ccml_i32_widen_even(weights)); \
                acc = ccml_i32_dot2_i16i16(acc, ccml_i32_widen_odd(four), ccml_i32_widen_odd(weights)); \
            } \
            y[first + c] = result(acc, constants + (extra) * c); \
        } \
        w = constants + (extra) * tile; \
    }

#endif

#endif
