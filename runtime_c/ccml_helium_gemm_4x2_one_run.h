/* Part of the ccml runtime: pixels of one run of at most eight steps by all channels, which are in fours.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X2_ONE_RUN_H
#define CCML_HELIUM_GEMM_4X2_ONE_RUN_H

#include "ccml_helium_gemm_4x2_i8.h"

#if CCML_HELIUM

#define CCML_HELIUM_ONE_RUN_BIASES0 "ldm r5, {r0, r2, r4, r6}\n"
#define CCML_HELIUM_ONE_RUN_BIASES1 "ldm r5!, {r8, r10, r12, lr}\n"

/* No counters of runs and steps: r7 is y of the first pixel, r9 how far that of the second is from it, r11 the channels
   left. `finish` makes results and stores them, loads biases and first weights of the next tile, the first one behind the
   last, and goes on at 2 unless that was the last. On the stack: x of both pixels, pixels left, w, entry of the steps; the
   arguments from sp + 88 on. */
#define CCML_HELIUM_ONE_RUN(setup, finish) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r11, lr}\n" \
        "vpush {d8-d11}\n" \
        "sub sp, sp, #20\n" \
        setup \
        "mov r4, r3\n" \
        CCML_HELIUM_ENTRY("3f", "4f", 8, 3) \
        "strd r0, r9, [sp, #12]\n" \
        "mov r5, r0\n" \
        "mov r7, r2\n" \
        "ldrd r9, r3, [sp, #88]\n" \
        "ldr r11, [sp, #96]\n" \
        CCML_HELIUM_ONE_RUN_BIASES0 CCML_HELIUM_ONE_RUN_BIASES1 CCML_HELIUM_4X2_WEIGHTS \
        "1:\n" \
        "str r9, [sp, #8]\n" \
        "cmp r9, #1\n" \
        "mov r9, r11\n" \
        "itt eq\n" \
        "moveq r3, #0\n" \
        "moveq r9, #0\n" \
        "add r3, r1, r3\n" \
        "strd r1, r3, [sp]\n" \
        "2:\n" \
        "ldrd r1, r3, [sp]\n" \
        "ldr pc, [sp, #16]\n" \
        ".p2align 2\n" \
        "3:\n" CCML_HELIUM_REPEAT("8", CCML_HELIUM_4X2_STEP) \
        "4:\n" \
        finish \
        "ldr r9, [sp, #8]\n" \
        "subs r9, r9, #2\n" \
        "ble 5f\n" \
        "ldrd r3, r11, [sp, #92]\n" \
        "ldr r1, [sp]\n" \
        "add r1, r1, r3, lsl #1\n" \
        "add r7, r7, r11\n" \
        "b 1b\n" \
        "5:\n" \
        "add sp, sp, #20\n" \
        "vpop {d8-d11}\n" \
        "pop {r4-r11, pc}\n")
#endif

#endif
