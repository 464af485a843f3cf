/* Part of the ccml runtime: one pixel of bytes in words by all channels, whose weights are bytes plus 128, four side by
   side, at an even address. At most 511 steps.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_4X1_BYTES_H
#define CCML_GEMM_4X1_BYTES_H

#include "ccml_thumb.h"

#if CCML_ARM_V6M
/* A word in r3 to r6 times two weights, w0 + 256 * w1, and the first of them alone. */
#define CCML_BYTES_4X1_PAIR(number, word, both, low) \
    "ldrh r2, [r1, #" number "]\n" \
    "uxtb r7, r2\n" \
    "muls r2, " word ", r2\n" \
    "add " both ", r2\n" \
    "muls r7, " word ", r7\n" \
    "add " low ", r7\n"
#define CCML_BYTES_4X1_FOUR(n0, n2, word) \
    CCML_BYTES_4X1_PAIR(n0, word, "r8", "r9") CCML_BYTES_4X1_PAIR(n2, word, "r10", "r11")

/* Sums of s0 + 256 * s1 and of s0 are in r8 and r9, those of the other two channels in r10 and r11; the end of eights of x
   in lr, that of x in r12. On the stack: b, x, end of y, y. */
#define CCML_BLOCK_GEMM_4X1_BYTES 1
CCML_NAKED ccml_gemm_4x1_bytes(
    const int32_t *b CCML_UNUSED, const uint8_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *y CCML_UNUSED,
    int32_t steps CCML_UNUSED, int32_t channels CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r4-r7}\n"
        "sub sp, #16\n"
        "str r0, [sp, #0]\n"
        "str r2, [sp, #4]\n"
        "str r3, [sp, #12]\n"
        "ldr r5, [sp, #56]\n"
        "lsls r5, r5, #2\n"
        "adds r5, r5, r3\n"
        "str r5, [sp, #8]\n"
        "ldr r4, [sp, #52]\n"
        "lsls r5, r4, #2\n"
        "adds r5, r5, r2\n"
        "adds r5, #4\n"
        "mov r12, r5\n"
        "lsrs r4, r4, #3\n"
        "lsls r4, r4, #5\n"
        "adds r4, r4, r2\n"
        "adds r4, #4\n"
        "mov lr, r4\n"
        "1:\n"
        "ldr r0, [sp, #4]\n"
        "ldmia r0!, {r2}\n"
        "lsls r3, r2, #8\n"
        "adds r3, r3, r2\n"
        "mov r8, r3\n"
        "mov r9, r2\n"
        "mov r10, r3\n"
        "mov r11, r2\n"
        "cmp r0, lr\n"
        "beq 3f\n"
        "2:\n"
        "ldmia r0!, {r3-r6}\n"
        CCML_BYTES_4X1_FOUR("0", "2", "r3") CCML_BYTES_4X1_FOUR("4", "6", "r4")
        CCML_BYTES_4X1_FOUR("8", "10", "r5") CCML_BYTES_4X1_FOUR("12", "14", "r6")
        "ldmia r0!, {r3-r6}\n"
        CCML_BYTES_4X1_FOUR("16", "18", "r3") CCML_BYTES_4X1_FOUR("20", "22", "r4")
        CCML_BYTES_4X1_FOUR("24", "26", "r5") CCML_BYTES_4X1_FOUR("28", "30", "r6")
        "adds r1, #32\n"
        "cmp r0, lr\n"
        "bne 2b\n"
        "3:\n"
        "cmp r0, r12\n"
        "beq 5f\n"
        "4:\n"
        "ldmia r0!, {r3}\n" CCML_BYTES_4X1_FOUR("0", "2", "r3")
        "adds r1, #4\n"
        "cmp r0, r12\n"
        "bne 4b\n"
        "5:\n"
        "mov r3, r9\n"
        "mov r4, r8\n"
        "subs r4, r4, r3\n"
        "asrs r4, r4, #8\n"
        "mov r5, r11\n"
        "mov r6, r10\n"
        "subs r6, r6, r5\n"
        "asrs r6, r6, #8\n"
        "ldr r0, [sp, #0]\n"
        "ldmia r0!, {r2, r7}\n"
        "adds r3, r3, r2\n"
        "adds r4, r4, r7\n"
        "ldmia r0!, {r2, r7}\n"
        "adds r5, r5, r2\n"
        "adds r6, r6, r7\n"
        "str r0, [sp, #0]\n"
        "ldr r2, [sp, #12]\n"
        "stmia r2!, {r3-r6}\n"
        "str r2, [sp, #12]\n"
        "ldr r3, [sp, #8]\n"
        "cmp r2, r3\n"
        "beq 6f\n"
        "b 1b\n"
        "6:\n"
        "add sp, #16\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}

#undef CCML_BYTES_4X1_PAIR
#undef CCML_BYTES_4X1_FOUR
#endif

#endif
