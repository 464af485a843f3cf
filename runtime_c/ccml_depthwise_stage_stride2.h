/* Part of the ccml runtime: channels of three rows as pairs of columns, for depthwise 3x3 convolutions of stride 2.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_STAGE_STRIDE2_H
#define CCML_DEPTHWISE_STAGE_STRIDE2_H

#include "ccml_widen.h"

#if CCML_ARM_DSP

/* Four channels of two words as four words in a, b, r10 and r11, which go to y. */
#define CCML_DEPTHWISE_JOINED(a, b) \
    "pkhbt r10, " a ", " b ", lsl #16\n" \
    "pkhtb r11, " b ", " a ", asr #16\n" \
    "sxtb16 " a ", r10\n" \
    "sxtb16 " b ", r10, ror #8\n" \
    "sxtb16 r10, r11\n" \
    "sxtb16 r11, r11, ror #8\n" \
    "stm r3!, {" a ", " b ", r10, r11}\n"

/* As many pairs of borders as r6 says; in r10 four bytes of them. */
#define CCML_DEPTHWISE_BORDERS \
    "cbz r6, 9f\n" \
    "sxtb16 r4, r10\n" \
    "8:\n" \
    ".rept 6\n" \
    "strd r4, r4, [r3], #8\n" \
    ".endr\n" \
    "subs r6, r6, #1\n" \
    "bne 8b\n" \
    "9:\n"

/* In s0 the distance of pairs, s1 minus that of the ends of all pairs within, s3 whether a pair is half within at the
   right, s4 the groups left, s5 four bytes of the border, s6 the distance of columns. A pair that is half within goes
   into the loop behind its loads. */
#define CCML_BLOCK_DEPTHWISE_STAGE_STRIDE2 1
CCML_NAKED ccml_depthwise_stage_stride2(
    const int8_t *x0 CCML_UNUSED, const int8_t *x1 CCML_UNUSED, const int8_t *x2 CCML_UNUSED, int32_t *y CCML_UNUSED,
    int32_t groups CCML_UNUSED, int32_t columns CCML_UNUSED, int32_t step CCML_UNUSED, int32_t left CCML_UNUSED,
    int32_t right CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd r4, r5, [sp, #36]\n"
        "ldrd r6, r7, [sp, #44]\n"
        "ldrb r10, [sp, #56]\n"
        "orr r10, r10, r10, lsl #8\n"
        "orr r10, r10, r10, lsl #16\n"
        "vmov s4, s5, r4, r10\n"
        "vmov s6, r6\n"
        "and r7, r7, #1\n"
        "sub r5, r5, r7\n"
        "lsr r5, r5, #1\n"
        "lsl r8, r6, #1\n"
        "mul r5, r5, r8\n"
        "mla r9, r7, r6, r5\n"
        "add r0, r0, r9\n"
        "add r1, r1, r9\n"
        "add r2, r2, r9\n"
        "rsb r5, r5, #0\n"
        "vmov s0, s1, r8, r5\n"
        "1:\n"
        "ldrd r6, r7, [sp, #48]\n"
        "and r7, r7, #1\n"
        "vmov s3, r7\n"
        "vmov r10, s5\n"
        "vmov lr, s1\n"
        "cbz r6, 3f\n"
        "and r9, r6, #1\n"
        "lsr r6, r6, #1\n"
        CCML_DEPTHWISE_BORDERS
        "cmp r9, #0\n"
        "beq 3f\n"
        "vmov r4, s0\n"
        "sub lr, lr, r4\n"
        "add r12, lr, r4, lsr #1\n"
        "mov r4, r10\n"
        "mov r5, r10\n"
        "mov r8, r10\n"
        "ldr r6, [r0, r12]\n"
        "ldr r7, [r1, r12]\n"
        "ldr r9, [r2, r12]\n"
        "b 5f\n"
        "3:\n"
        "cmp lr, #0\n"
        "beq 6f\n"
        "vmov r12, s6\n"
        "add r12, r12, lr\n"
        "4:\n"
        "ldr r4, [r0, lr]\n"
        "ldr r5, [r1, lr]\n"
        "ldr r8, [r2, lr]\n"
        "ldr r6, [r0, r12]\n"
        "ldr r7, [r1, r12]\n"
        "ldr r9, [r2, r12]\n"
        "5:\n"
        CCML_DEPTHWISE_JOINED("r4", "r5")
        CCML_DEPTHWISE_JOINED("r6", "r7")
        CCML_DEPTHWISE_JOINED("r8", "r9")
        "vmov r4, s0\n"
        "add r12, r12, r4\n"
        "adds lr, lr, r4\n"
        "bne 4b\n"
        "6:\n"
        "vmov r4, s3\n"
        "vmov r10, s5\n"
        "cbz r4, 7f\n"
        "mov r4, #0\n"
        "vmov s3, r4\n"
        "vmov lr, s0\n"
        "rsb lr, lr, #0\n"
        "ldr r4, [r0]\n"
        "ldr r5, [r1]\n"
        "ldr r8, [r2]\n"
        "mov r6, r10\n"
        "mov r7, r10\n"
        "mov r9, r10\n"
        "b 5b\n"
        "7:\n"
        "ldr r6, [sp, #52]\n"
        "lsr r6, r6, #1\n"
        CCML_DEPTHWISE_BORDERS
        "vmov r4, s4\n"
        "add r0, r0, #4\n"
        "add r1, r1, #4\n"
        "add r2, r2, #4\n"
        "subs r4, r4, #1\n"
        "vmov s4, r4\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_JOINED
#undef CCML_DEPTHWISE_BORDERS
#endif

#endif
