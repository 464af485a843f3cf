/* Part of the ccml runtime: one pixel of at most four vectors by all channels, as sums, filled up to a multiple of eight.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_8X1_FEW_I32_H
#define CCML_HELIUM_GEMM_8X1_FEW_I32_H

#include "ccml_helium_gemm_8x1.h"

#if CCML_HELIUM
#define CCML_HELIUM_8X1_FEW_CHANNEL(acc, x, w) CCML_HELIUM_LOAD(w, "r5") CCML_HELIUM_DOT(acc, x, w)
#define CCML_HELIUM_8X1_FEW_STEP(x) \
    CCML_HELIUM_8X1_FEW_CHANNEL("r0", x, "q1") CCML_HELIUM_8X1_FEW_CHANNEL("r2", x, "q2") \
    CCML_HELIUM_8X1_FEW_CHANNEL("r4", x, "q1") CCML_HELIUM_8X1_FEW_CHANNEL("r6", x, "q2") \
    CCML_HELIUM_8X1_FEW_CHANNEL("r8", x, "q1") CCML_HELIUM_8X1_FEW_CHANNEL("r10", x, "q2") \
    CCML_HELIUM_8X1_FEW_CHANNEL("r12", x, "q1") CCML_HELIUM_8X1_FEW_CHANNEL("lr", x, "q2")

/* Even registers and lr hold sums, q4 to q7 x, the last vector in q4; r5 is w, r3 y, r11 the channels left, r7 where the
   steps begin, r9 where a vector is loaded for each of them. */
#define CCML_BLOCK_HELIUM_GEMM_8X1_FEW_I32 1
CCML_NAKED ccml_helium_gemm_8x1_few_i32(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t vectors CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        ".p2align 2\n"
        "push {r4-r11, lr}\n"
        "vpush {d8-d15}\n"
        "mov r5, r0\n"
        "ldr r11, [sp, #100]\n"
        "add r1, r1, r3, lsl #4\n"
        "mov r8, #(4f - 3f) / 4\n"
        "adr.w r7, 4f\n"
        "mls r7, r3, r8, r7\n"
        "orr r7, r7, #1\n"
        "adr.w r9, 1f\n"
        "sub r9, r9, r3, lsl #2\n"
        "orr r9, r9, #1\n"
        "mov r3, r2\n"
        "bx r9\n"
        ".p2align 2\n"
        "vldrb.u8 q7, [r1, #-64]\n"
        "vldrb.u8 q6, [r1, #-48]\n"
        "vldrb.u8 q5, [r1, #-32]\n"
        "vldrb.u8 q4, [r1, #-16]\n"
        "1:\n"
        "ldm r5!, {r0, r2, r4, r6}\n"
        "ldm r5!, {r8, r10, r12, lr}\n"
        "bx r7\n"
        ".p2align 2\n"
        "3:\n"
        CCML_HELIUM_8X1_FEW_STEP("q7") CCML_HELIUM_8X1_FEW_STEP("q6")
        CCML_HELIUM_8X1_FEW_STEP("q5") CCML_HELIUM_8X1_FEW_STEP("q4")
        "4:\n"
        "subs r11, r11, #8\n"
        "stm r3!, {r0, r2, r4, r6}\n"
        "stm r3!, {r8, r10, r12, lr}\n"
        "bgt.w 1b\n"
        "vpop {d8-d15}\n"
        "pop {r4-r11, pc}\n");
}
#undef CCML_HELIUM_8X1_FEW_CHANNEL
#undef CCML_HELIUM_8X1_FEW_STEP
#endif

#endif
