/* Part of the ccml runtime: four pixels, two in a word, by all channels with 64-bit sums, two channels at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_2X4_LONG_H
#define CCML_GEMM_2X4_LONG_H

#include "ccml_thumb.h"

#if CCML_ARM_V7M
/* A weight times the four pixels in r2 and r3. */
#define CCML_LONG_2X4_WEIGHT(low0, high0, low1, high1) \
    "ldrsb r12, [r1], #1\n" \
    "smlal " low0 ", " high0 ", r2, r12\n" \
    "smlal " low1 ", " high1 ", r3, r12\n"

#define CCML_LONG_2X4_PIXELS "ldrd r2, r3, [r0], #8\n"

/* 7 and 4 instructions of four bytes each. */
#define CCML_LONG_2X4_TWO \
    CCML_LONG_2X4_PIXELS CCML_LONG_2X4_WEIGHT("r4", "r5", "r6", "r7") CCML_LONG_2X4_WEIGHT("r8", "r9", "r10", "r11")
#define CCML_LONG_2X4_ONE CCML_LONG_2X4_PIXELS CCML_LONG_2X4_WEIGHT("r4", "r5", "r6", "r7")

/* The sums of one channel, at r12: the upper of two has lent one where the lower is negative. The biases of both are
   at *b. */
#define CCML_LONG_2X4_SPLIT(low, high) \
    "sbfx r0, " low ", #0, #24\n" \
    "lsr " low ", " low ", #24\n" \
    "orr " high ", " low ", " high ", lsl #8\n" \
    "add " high ", " high ", r0, lsr #31\n" \
    "add " low ", r0, r2\n" \
    "add " high ", " high ", r3\n"
#define CCML_LONG_2X4_STORE(low0, high0, low1, high1) \
    "ldr r0, [sp, #0]\n" \
    "ldrd r2, r3, [r0], #8\n" \
    "str r0, [sp, #0]\n" CCML_LONG_2X4_SPLIT(low0, high0) CCML_LONG_2X4_SPLIT(low1, high1) \
    "stm r12!, {" low0 ", " high0 ", " low1 ", " high1 "}\n"

/* The place from which `steps` (in r4) leave (steps - 1) % 8 + 1 of 8 copies from `begin` to `end`, in r7. */
#define CCML_LONG_2X4_ENTRY(begin, end) \
    "sub r6, r4, #1\n" \
    "and r6, r6, #7\n" \
    "add r6, r6, #1\n" \
    "mov r7, #(" end " - " begin ") / 8\n" \
    "mul r6, r6, r7\n" \
    "adr.w r7, " end "\n" \
    "sub r7, r7, r6\n" \
    "orr r7, r7, #1\n"

/* On the stack: b, y, x, entry of two channels, pairs of channels left, channels, entry of one channel. */
#define CCML_BLOCK_GEMM_2X4_LONG 1
CCML_NAKED ccml_gemm_2x4_long(
    const int32_t *b CCML_UNUSED, const int8_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED,
    int32_t steps CCML_UNUSED, int32_t channels CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        ".p2align 2\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #28\n"
        "ldrd r4, r5, [sp, #64]\n"
        "strd r0, r3, [sp]\n"
        "str r2, [sp, #8]\n"
        CCML_LONG_2X4_ENTRY("2f", "3f")
        "str r7, [sp, #12]\n"
        CCML_LONG_2X4_ENTRY("6f", "7f")
        "str r7, [sp, #24]\n"
        "add lr, r2, r4, lsl #3\n"
        "str r5, [sp, #20]\n"
        "lsrs r5, r5, #1\n"
        "str r5, [sp, #16]\n"
        "beq.w 4f\n"
        "1:\n"
        "movs r4, #0\n"
        "movs r5, #0\n"
        "movs r6, #0\n"
        "movs r7, #0\n"
        "mov r8, r4\n"
        "mov r9, r4\n"
        "mov r10, r4\n"
        "mov r11, r4\n"
        "ldrd r0, r12, [sp, #8]\n"
        "bx r12\n"
        ".p2align 2\n"
        "2:\n" CCML_REPEAT_TEXT("8", CCML_LONG_2X4_TWO)
        "3:\n"
        "cmp r0, lr\n"
        "bne.w 2b\n"
        "ldr r12, [sp, #4]\n"
        CCML_LONG_2X4_STORE("r4", "r5", "r6", "r7") CCML_LONG_2X4_STORE("r8", "r9", "r10", "r11")
        "str r12, [sp, #4]\n"
        "ldr r2, [sp, #16]\n"
        "subs r2, r2, #1\n"
        "str r2, [sp, #16]\n"
        "bne.w 1b\n"
        "4:\n"
        "ldr r2, [sp, #20]\n"
        "lsrs r2, r2, #1\n"
        "bcc.w 8f\n"
        "movs r4, #0\n"
        "movs r5, #0\n"
        "movs r6, #0\n"
        "movs r7, #0\n"
        "ldr r0, [sp, #8]\n"
        "ldr r12, [sp, #24]\n"
        "bx r12\n"
        ".p2align 2\n"
        "6:\n" CCML_REPEAT_TEXT("8", CCML_LONG_2X4_ONE)
        "7:\n"
        "cmp r0, lr\n"
        "bne.w 6b\n"
        "ldr r12, [sp, #4]\n"
        CCML_LONG_2X4_STORE("r4", "r5", "r6", "r7")
        "8:\n"
        "add sp, sp, #28\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_LONG_2X4_WEIGHT
#undef CCML_LONG_2X4_PIXELS
#undef CCML_LONG_2X4_TWO
#undef CCML_LONG_2X4_ONE
#undef CCML_LONG_2X4_SPLIT
#undef CCML_LONG_2X4_STORE
#undef CCML_LONG_2X4_ENTRY
#endif

#endif
