/* Part of the ccml runtime: activations of four neighbouring pixels under three taps, of any rows, for packed weights.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_IM2COL_X4_THREE_H
#define CCML_IM2COL_X4_THREE_H

#include "ccml_widen.h"

#if CCML_ARM_DSP
/* A word of x, flipped, in r6, and its low bytes, exchanged, in r7. */
#define CCML_IM2COL_X4_THREE_WORD(x) \
    "ldr r6, " x "\n" \
    "eor r6, r6, #0x800080\n" \
    "uxtb16 r7, r6, ror #16\n"

#define CCML_IM2COL_X4_THREE_STORE(y, low, both) \
    "str r6, [" y ", #" both "]\n" \
    "str r7, [" y low "\n"

/* r0 and r4 are at the elements 0 and 3 of six that lie r3 bytes apart, each of which is seen by up to three taps, r1, r2
   and r5 where their words go; lr counts words, r8 rows. In s0 the words of an element, s1 the bytes of those of a tap in y, s2 the bytes from the end of a row of x to the next. */
#define CCML_BLOCK_IM2COL_X4_THREE 1
CCML_NAKED ccml_im2col_x4_three(
    const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t words CCML_UNUSED, int32_t step CCML_UNUSED,
    int32_t rows CCML_UNUSED, int32_t pitch CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r8, lr}\n"
        "ldrd r8, r7, [sp, #24]\n"
        "sub r7, r7, r2, lsl #2\n"
        "lsl r6, r2, #5\n"
        "vmov s0, s1, r2, r6\n"
        "vmov s2, r7\n"
        "1:\n"
        "vmov lr, r6, s0, s1\n"
        "add r2, r1, r6\n"
        "add r5, r2, r6\n"
        "add r4, r3, r3, lsl #1\n"
        "add r4, r4, r0\n"
        "2:\n"
        CCML_IM2COL_X4_THREE_WORD("[r4, r3, lsl #1]")
        CCML_IM2COL_X4_THREE_STORE("r5", ", #12]", "28")
        CCML_IM2COL_X4_THREE_WORD("[r4, r3]")
        CCML_IM2COL_X4_THREE_STORE("r5", ", #8]", "24")
        CCML_IM2COL_X4_THREE_STORE("r2", ", #12]", "28")
        CCML_IM2COL_X4_THREE_WORD("[r4], #4")
        CCML_IM2COL_X4_THREE_STORE("r5", ", #4]", "20")
        CCML_IM2COL_X4_THREE_STORE("r2", ", #8]", "24")
        CCML_IM2COL_X4_THREE_STORE("r1", ", #12]", "28")
        CCML_IM2COL_X4_THREE_WORD("[r0, r3, lsl #1]")
        CCML_IM2COL_X4_THREE_STORE("r5", "], #32", "16")
        CCML_IM2COL_X4_THREE_STORE("r2", ", #4]", "20")
        CCML_IM2COL_X4_THREE_STORE("r1", ", #8]", "24")
        CCML_IM2COL_X4_THREE_WORD("[r0, r3]")
        CCML_IM2COL_X4_THREE_STORE("r2", "], #32", "16")
        CCML_IM2COL_X4_THREE_STORE("r1", ", #4]", "20")
        CCML_IM2COL_X4_THREE_WORD("[r0], #4")
        CCML_IM2COL_X4_THREE_STORE("r1", "], #32", "16")
        "subs lr, lr, #1\n"
        "bne 2b\n"
        "vmov r6, s2\n"
        "add r0, r0, r6\n"
        "mov r1, r5\n"
        "subs r8, r8, #1\n"
        "bne 1b\n"
        "pop {r4-r8, pc}\n");
}

#undef CCML_IM2COL_X4_THREE_WORD
#undef CCML_IM2COL_X4_THREE_STORE
#endif

#endif
