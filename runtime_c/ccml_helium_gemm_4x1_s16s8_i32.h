/* Part of the ccml runtime: one pixel of halfwords, as lines of their upper and lower bytes, by all channels, as sums.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X1_S16S8_I32_H
#define CCML_HELIUM_GEMM_4X1_S16S8_I32_H

#include "ccml_helium_gemm_4x2.h"

#if CCML_HELIUM

/* The first step of a tile, whose sums begin with it. */
#define CCML_HELIUM_4X1_FIRST \
    CCML_HELIUM_4X2_WEIGHTS CCML_HELIUM_LOAD("q0", "r1") \
    "vmlav.s8 r0, q0, q2\n" CCML_HELIUM_LOAD("q1", "r3") \
    "vmlav.s8 r8, q1, q2\n" CCML_HELIUM_LOAD("q3", "r5") \
    "vmlav.s8 r2, q0, q3\n" \
    "vmlav.s8 r10, q1, q3\n" CCML_HELIUM_4X2_WEIGHTS \
    "vmlav.s8 r4, q0, q2\n" \
    "vmlav.s8 r12, q1, q2\n" CCML_HELIUM_LOAD("q3", "r5") \
    "vmlav.s8 r6, q0, q3\n" CCML_HELIUM_4X2_WEIGHTS \
    "vmlav.s8 lr, q1, q3\n"

/* Behind the weights of a tile, whose last step loads them into q2, are the biases. r1 and r3 are the lines, r5 is w, r9
   y, r11 the channels left; in r7 how often all copies of a step follow those that are entered. On the stack: where these
   are, how often, and both lines; the argument at sp + 84. */
#define CCML_BLOCK_HELIUM_GEMM_4X1_S16S8_I32 1
CCML_NAKED ccml_helium_gemm_4x1_s16s8_i32(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t vectors CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        ".p2align 2\n"
        "push {r4-r11, lr}\n"
        "vpush {d8-d11}\n"
        "sub sp, sp, #16\n"
        "mov r5, r0\n"
        "mov r9, r2\n"
        "ldr r11, [sp, #84]\n"
        "add r2, r1, r3, lsl #4\n"
        "strd r1, r2, [sp, #8]\n"
        "sub r6, r3, #1\n"
        "and r7, r6, #7\n"
        "mov r8, #(3f - 2f) / 8\n"
        "adr.w r4, 3f\n"
        "mls r4, r7, r8, r4\n"
        "orr r4, r4, #1\n"
        "lsr r6, r6, #3\n"
        "strd r4, r6, [sp]\n"
        "1:\n"
        "ldrd r1, r3, [sp, #8]\n"
        CCML_HELIUM_4X1_FIRST
        "ldr r7, [sp, #4]\n"
        "ldr pc, [sp]\n"
        ".p2align 2\n"
        "2:\n" CCML_HELIUM_REPEAT("8", CCML_HELIUM_4X2_STEP)
        "3:\n"
        "subs r7, r7, #1\n"
        "bge.w 2b\n"
        "vmov q0[2], q0[0], r0, r4\n"
        "subs r11, r11, #4\n"
        "vmov q0[3], q0[1], r2, r6\n"
        "vmov q1[2], q1[0], r8, r12\n"
        "vshl.i32 q0, q0, #8\n"
        "vmov q1[3], q1[1], r10, lr\n"
        "vadd.i32 q0, q0, q2\n"
        "vadd.i32 q0, q0, q1\n"
        "vstrw.32 q0, [r9], #16\n"
        "bgt.w 1b\n"
        "add sp, sp, #16\n"
        "vpop {d8-d11}\n"
        "pop {r4-r11, pc}\n");
}
#undef CCML_HELIUM_4X1_FIRST
#endif

#endif
