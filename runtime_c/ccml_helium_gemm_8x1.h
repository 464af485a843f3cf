/* Part of the ccml runtime: one pixel by all channels, eight at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_8X1_H
#define CCML_HELIUM_GEMM_8X1_H

#include "ccml_helium.h"

#if CCML_HELIUM

/* The products of a vector for eight channels: 17 instructions of four bytes each. */
#define CCML_HELIUM_8X1_CHANNEL(dot, q, acc) CCML_HELIUM_LOAD(q, "r5") dot(acc, "q0", q)
#define CCML_HELIUM_8X1_STEP(dot) \
    CCML_HELIUM_LOAD("q0", "r1") \
    CCML_HELIUM_8X1_CHANNEL(dot, "q1", "r0") \
    CCML_HELIUM_8X1_CHANNEL(dot, "q2", "r2") \
    CCML_HELIUM_8X1_CHANNEL(dot, "q1", "r4") \
    CCML_HELIUM_8X1_CHANNEL(dot, "q2", "r6") \
    CCML_HELIUM_8X1_CHANNEL(dot, "q1", "r8") \
    CCML_HELIUM_8X1_CHANNEL(dot, "q2", "r10") \
    CCML_HELIUM_8X1_CHANNEL(dot, "q1", "r12") \
    CCML_HELIUM_8X1_CHANNEL(dot, "q2", "lr")

/* Channels are counted, and where some are left, their biases loaded. */
#define CCML_HELIUM_8X1_NEXT \
    "subs r11, r11, #8\n" \
    "itt gt\n" \
    "ldmgt r5!, {r0, r2, r4, r6}\n" \
    "ldmgt r5!, {r8, r10, r12, lr}\n"

#define CCML_HELIUM_8X1(setup, store) CCML_HELIUM_8X1_OF(CCML_HELIUM_DOT, setup, store)

/* void f(const int32_t *w, const X *x, T *y, int32_t vectors, int32_t channels, ...), with the multiplication `dot`. Even registers and lr hold
   sums; r9 is x, r3 is y, r11 the channels left. On the stack: entry of the steps, how often; the arguments from sp + 76
   on. `setup` comes first, `store` takes the sums, counts channels and loads the biases of the next tile. */
#define CCML_HELIUM_8X1_OF(dot, setup, store) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r11, lr}\n" \
        "vpush {d8-d11}\n" \
        "sub sp, sp, #8\n" \
        setup \
        "ldr r11, [sp, #76]\n" \
        "mov r5, r0\n" \
        "mov r4, r3\n" \
        CCML_HELIUM_ENTRY("2f", "3f", 8, 3) \
        "strd r9, r6, [sp]\n" \
        "mov r9, r1\n" \
        "mov r3, r2\n" \
        "ldm r5!, {r0, r2, r4, r6}\n" \
        "ldm r5!, {r8, r10, r12, lr}\n" \
        "1:\n" \
        "mov r1, r9\n" \
        "ldr r7, [sp, #4]\n" \
        "ldr pc, [sp]\n" \
        ".p2align 2\n" \
        "2:\n" CCML_HELIUM_REPEAT("8", CCML_HELIUM_8X1_STEP(dot)) \
        "3:\n" \
        "subs r7, r7, #1\n" \
        "bne.w 2b\n" \
        store \
        "bgt.w 1b\n" \
        "add sp, sp, #8\n" \
        "vpop {d8-d11}\n" \
        "pop {r4-r11, pc}\n")
#endif

#endif
