/* Part of the ccml runtime: pixels of runs of at most twelve steps by all channels, which are in fours.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X2_SHORT_RUNS_H
#define CCML_HELIUM_GEMM_4X2_SHORT_RUNS_H

#include "ccml_helium_gemm_4x2_i8.h"

#if CCML_HELIUM

/* r7 counts runs, r9 is from the end of one to the next, r11 the channels left; `load` brings `zero` where r9 is free. On the stack: x of both pixels, y of both pixels, runs, between them, w, entry of the steps, pixels left; the
   arguments from sp + 104 on. */
#define CCML_HELIUM_SHORT_RUNS(setup, load, requantize, zero, least) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r11, lr}\n" \
        "vpush {d8-d11}\n" \
        "sub sp, sp, #36\n" \
        setup \
        "ldrd r4, r5, [sp, #104]\n" \
        "sub r5, r5, r4, lsl #4\n" \
        "strd r3, r5, [sp, #16]\n" \
        "mov r8, #(4f - 6f) / 12\n" \
        "adr.w r9, 4f\n" \
        "mls r9, r4, r8, r9\n" \
        "orr r9, r9, #1\n" \
        "strd r0, r9, [sp, #24]\n" \
        "ldr r6, [sp, #112]\n" \
        "1:\n" \
        "str r6, [sp, #32]\n" \
        "ldrd r4, r11, [sp, #116]\n" \
        "mov r7, r11\n" \
        "cmp r6, #1\n" \
        "itt eq\n" \
        "moveq r4, #0\n" \
        "moveq r7, #0\n" \
        "add r3, r1, r4\n" \
        "strd r1, r3, [sp]\n" \
        "add r7, r2, r7\n" \
        "strd r2, r7, [sp, #8]\n" \
        "ldr r5, [sp, #24]\n" \
        "2:\n" \
        "ldm r5, {r0, r2, r4, r6}\n" \
        "ldm r5!, {r8, r10, r12, lr}\n" \
        "ldrd r1, r3, [sp]\n" CCML_HELIUM_4X2_WEIGHTS \
        "ldrd r7, r9, [sp, #16]\n" \
        "ldr pc, [sp, #28]\n" \
        "3:\n" \
        "add r1, r1, r9\n" \
        "add r3, r3, r9\n" \
        "ldr pc, [sp, #28]\n" \
        ".p2align 2\n" \
        "6:\n" CCML_HELIUM_REPEAT("12", CCML_HELIUM_4X2_STEP) \
        "4:\n" \
        "subs r7, r7, #1\n" \
        "bne.w 3b\n" \
        CCML_HELIUM_4X2_RESULTS(requantize, zero, least, load, "ldrd r1, r3, [sp, #8]\n", "subs r11, r11, #4\n", "") \
        "vstrb.32 q1, [r3], #4\n" \
        "vstrb.32 q0, [r1], #4\n" \
        "strd r1, r3, [sp, #8]\n" \
        "bgt.w 2b\n" \
        "ldr r6, [sp, #32]\n" \
        "subs r6, r6, #2\n" \
        "ble 5f\n" \
        "mov r2, r3\n" \
        "ldr r4, [sp, #116]\n" \
        "ldr r1, [sp]\n" \
        "add r1, r1, r4, lsl #1\n" \
        "b 1b\n" \
        "5:\n" \
        "add sp, sp, #36\n" \
        "vpop {d8-d11}\n" \
        "pop {r4-r11, pc}\n")
#endif

#endif
