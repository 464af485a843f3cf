/* Part of the ccml runtime: pixels by all channels, two by four at a time, activations read in place.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X2_H
#define CCML_HELIUM_GEMM_4X2_H

#include "ccml_helium.h"

#if CCML_HELIUM

/* Sixteen products for four channels of two pixels: 14 instructions of four bytes each. Loads stand between products,
   two cycles each of another unit, so that none of these waits: the weights of the first channel are in q2 before, and
   the last load takes those of the next step, or what follows the weights of a tile. */
#define CCML_HELIUM_4X2_WEIGHTS CCML_HELIUM_LOAD("q2", "r5")
#define CCML_HELIUM_4X2_BEGIN \
    CCML_HELIUM_LOAD("q0", "r1") \
    CCML_HELIUM_DOT("r0", "q0", "q2") \
    CCML_HELIUM_LOAD("q1", "r3") \
    CCML_HELIUM_DOT("r8", "q1", "q2") \
    CCML_HELIUM_LOAD("q3", "r5") \
    CCML_HELIUM_DOT("r2", "q0", "q3") \
    CCML_HELIUM_DOT("r10", "q1", "q3") CCML_HELIUM_4X2_WEIGHTS \
    CCML_HELIUM_DOT("r4", "q0", "q2") \
    CCML_HELIUM_DOT("r12", "q1", "q2") \
    CCML_HELIUM_LOAD("q3", "r5") \
    CCML_HELIUM_DOT("r6", "q0", "q3")
#define CCML_HELIUM_4X2_STEP CCML_HELIUM_4X2_BEGIN CCML_HELIUM_4X2_WEIGHTS CCML_HELIUM_DOT("lr", "q1", "q3")

/* The same where nothing follows the weights. */
#define CCML_HELIUM_4X2_LONE_STEP CCML_HELIUM_4X2_WEIGHTS CCML_HELIUM_4X2_BEGIN CCML_HELIUM_DOT("lr", "q1", "q3")

/* void f(const int32_t *w, const int8_t *x, T *y, int32_t runs, int32_t vectors, int32_t run_step, int32_t pixels,
   int32_t pixel_step, int32_t channels, ...).

   Even registers and lr hold sums, those of the first pixel in r0 to r6. The rest is on the stack: x of both pixels, y
   of both pixels, entry of the steps, how often, runs, from the end of a run to the next, channels left, w, y of the
   first pixel, pixels left; the arguments from sp + 116 on. `setup` comes first, `row` makes bytes of y (r7) of
   channels (r9), `weights` comes before the steps of a tile, each of which is `step`, `store` takes the sums. A last
   pixel that is left alone is computed twice. */
#define CCML_HELIUM_4X2(setup, row, weights, step, store) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r11, lr}\n" \
        "vpush {d8-d11}\n" \
        "sub sp, sp, #48\n" \
        "ldrd r4, r5, [sp, #116]\n" \
        setup \
        "sub r5, r5, r4, lsl #4\n" \
        "strd r3, r5, [sp, #24]\n" \
        CCML_HELIUM_ENTRY("4f", "5f", 8, 3) \
        "strd r9, r6, [sp, #16]\n" \
        "ldr r6, [sp, #124]\n" \
        "strd r0, r2, [sp, #36]\n" \
        "1:\n" \
        "str r6, [sp, #44]\n" \
        "ldrd r4, r9, [sp, #128]\n" \
        row \
        "cmp r6, #1\n" \
        "itt eq\n" \
        "moveq r4, #0\n" \
        "moveq r7, #0\n" \
        "add r4, r1, r4\n" \
        "strd r1, r4, [sp]\n" \
        "add r7, r2, r7\n" \
        "strd r2, r7, [sp, #8]\n" \
        "ldr r5, [sp, #36]\n" \
        "2:\n" \
        "str r9, [sp, #32]\n" \
        "ldm r5, {r0, r2, r4, r6}\n" \
        "ldm r5!, {r8, r10, r12, lr}\n" \
        "ldrd r1, r3, [sp]\n" \
        "ldrd r11, r9, [sp, #24]\n" \
        weights \
        "3:\n" \
        "ldr r7, [sp, #20]\n" \
        "ldr pc, [sp, #16]\n" \
        ".p2align 2\n" \
        "4:\n" CCML_HELIUM_REPEAT("8", step) \
        "5:\n" \
        "subs r7, r7, #1\n" \
        "bne.w 4b\n" \
        "subs r11, r11, #1\n" \
        "bne.w 7f\n" \
        "ldrd r1, r3, [sp, #8]\n" \
        "ldr r9, [sp, #32]\n" \
        store \
        "strd r1, r3, [sp, #8]\n" \
        "subs r9, r9, #4\n" \
        "bgt.w 2b\n" \
        "ldr r6, [sp, #44]\n" \
        "subs r6, r6, #2\n" \
        "ble 6f\n" \
        "ldrd r4, r9, [sp, #128]\n" \
        row \
        "ldr r1, [sp]\n" \
        "add r1, r1, r4, lsl #1\n" \
        "ldr r2, [sp, #40]\n" \
        "add r2, r2, r7, lsl #1\n" \
        "str r2, [sp, #40]\n" \
        "b 1b\n" \
        "6:\n" \
        "add sp, sp, #48\n" \
        "vpop {d8-d11}\n" \
        "pop {r4-r11, pc}\n" \
        "7:\n" \
        "add r1, r1, r9\n" \
        "add r3, r3, r9\n" \
        "b 3b\n")
#endif

#endif
