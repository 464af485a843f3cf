/* Part of the ccml runtime: normalization of a row of bytes, with a factor and a bias for each element.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_NORMALIZE_ROW_H
#define CCML_NORMALIZE_ROW_H

#include "ccml_widen.h"

#if CCML_ARM_DSP
/* A sum in a and in b, of which bytes are in them, with their factors and biases. */
#define CCML_NORMALIZE_ROW_TWO(a, b) \
    "ldm r2!, {r7, r8, r9, r10}\n" \
    "mla " a ", " a ", r4, r5\n" \
    "mla " b ", " b ", r4, r5\n" \
    "asr " a ", " a ", r6\n" \
    "asr " b ", " b ", r6\n" \
    "smmla " a ", " a ", r7, r8\n" \
    "smmla " b ", " b ", r9, r10\n"

#define CCML_NORMALIZE_ROW_FOUR \
    "ldrsb r12, [r0, #1]\n" \
    "ldrsb r11, [r0], #4\n" \
    CCML_NORMALIZE_ROW_TWO("r11", "r12") \
    "ldrsb r1, [r0, #-2]\n" \
    "ldrsb lr, [r0, #-1]\n" \
    CCML_NORMALIZE_ROW_TWO("r1", "lr") \
    "pkhtb r11, r1, r11, asr #16\n" \
    "pkhtb r12, lr, r12, asr #16\n" \
    "ssat16 r11, #8, r11\n" \
    "ssat16 r12, #8, r12\n" \
    "uxtb16 r11, r11\n" \
    "uxtb16 r12, r12\n" \
    "orr r11, r11, r12, lsl #8\n" \
    "str r11, [r3], #4\n"

/* r4 to r6 have the multiplier, bias and shift of the row, s0 the end of whole words of x, s1 the bytes behind. */
#define CCML_BLOCK_NORMALIZE_ROW 1
CCML_NAKED ccml_normalize_row(
    const int8_t *x CCML_UNUSED, const int32_t *scaling CCML_UNUSED, const int32_t *steps CCML_UNUSED,
    int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldr r7, [sp, #36]\n"
        "ldm r1, {r4, r5, r6}\n"
        "and r6, r6, #31\n"
        "and r9, r7, #3\n"
        "bics r8, r7, #3\n"
        "add r10, r0, r8\n"
        "vmov s0, s1, r10, r9\n"
        "beq 3f\n"
        "tst r8, #4\n"
        "bne 2f\n"
        "1:\n" CCML_NORMALIZE_ROW_FOUR
        "2:\n" CCML_NORMALIZE_ROW_FOUR
        "vmov r7, s0\n"
        "cmp r0, r7\n"
        "bne 1b\n"
        "3:\n"
        "vmov r9, s1\n"
        "cmp r9, #0\n"
        "beq 5f\n"
        "4:\n"
        "ldrsb r1, [r0], #1\n"
        "ldrd r7, r8, [r2], #8\n"
        "mla r1, r1, r4, r5\n"
        "asr r1, r1, r6\n"
        "smmla r1, r1, r7, r8\n"
        "ssat r1, #8, r1, asr #16\n"
        "strb r1, [r3], #1\n"
        "subs r9, r9, #1\n"
        "bne 4b\n"
        "5:\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_NORMALIZE_ROW_TWO
#undef CCML_NORMALIZE_ROW_FOUR
#endif

#endif
