/* Part of the ccml runtime: depthwise convolution with three taps along a line, bytes to bytes.

   w has for each channel a bias, a word of bytes (w0, w1, w1, w2) and a factor.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_LINE_H
#define CCML_DEPTHWISE_LINE_H

#include "ccml_widen.h"

#if CCML_ARM_DSP

/* Output 0 of a pair in `out`: elements 0 and 1 in `a`, element 2 in the low half of `b`. */
#define CCML_DEPTHWISE_LINE_FIRST(out, a, b) \
    "smlad " out ", " a ", r11, r9\n" \
    "smlabt " out ", " b ", r10, " out "\n" \
    "smmlar " out ", " out ", r12, lr\n" \
    "ssat " out ", #8, " out "\n"

/* Output 1 of a pair in `out`: elements 2 and 3 in `b`. */
#define CCML_DEPTHWISE_LINE_SECOND(out, a, b) \
    "smlatb " out ", " a ", r11, r9\n" \
    "smlad " out ", " b ", r10, " out "\n" \
    "smmlar " out ", " out ", r12, lr\n" \
    "ssat " out ", #8, " out "\n"

/* Two outputs; `a` has the elements before those that come to `b`. */
#define CCML_DEPTHWISE_LINE_PAIR(a, b) \
    "ldrsb " b ", [r0, r4]\n" \
    CCML_DEPTHWISE_LINE_FIRST("r8", a, b) \
    "strb r8, [r2, r4]\n" \
    "ldrsb r8, [r1, r4]\n" \
    "pkhbt " b ", " b ", r8, lsl #16\n" \
    CCML_DEPTHWISE_LINE_SECOND("r8", a, b) \
    "strb r8, [r3, r4]\n" \
    "adds r4, r4, r5\n"

/* r0 and r1 are at the elements behind those that whole pairs load, r2 and r3 at the outputs behind theirs, r4 runs from
   s2 to 0 by r5, the distance of pairs. r9 has the bias, r10 (w1, w2), r11 (w0, w1), r12 the factor, lr the zero point.
   In s0 the stream, s1 its end, s4 the value beyond the ends, s3 bits: 1 one element is beyond the left end, 2 an odd
   number of pairs, 4 one more output, 8 whose last element is inside, 16 two more outputs. Two bits are tested at once,
   as sign and carry. */
#define CCML_BLOCK_DEPTHWISE_LINE 1
CCML_NAKED ccml_depthwise_line(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t columns CCML_UNUSED, int32_t step CCML_UNUSED, int32_t left CCML_UNUSED, int32_t right CCML_UNUSED,
    int32_t zero CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd r4, r5, [sp, #36]\n"
        "ldrd r6, r7, [sp, #44]\n"
        "ldrd r8, lr, [sp, #52]\n"
        "vmov s4, r8\n"
        "add r3, r3, r3, lsl #1\n"
        "add r3, r0, r3, lsl #2\n"
        "vmov s0, s1, r0, r3\n"
        "sub r4, r4, #2\n"
        "add r4, r4, r6\n"
        "lsr r9, r4, #1\n"
        "and r4, r4, #1\n"
        "add r10, r4, r7\n"
        "and r11, r9, #1\n"
        "orr r12, r6, r11, lsl #1\n"
        "orr r12, r12, r4, lsl #3\n"
        "lsr r11, r10, #1\n"
        "orr r12, r12, r11, lsl #4\n"
        "add r10, r10, #1\n"
        "lsr r10, r10, #1\n"
        "orr r12, r12, r10, lsl #2\n"
        "rsb r6, r6, #2\n"
        "mla r0, r6, r5, r1\n"
        "lsl r6, r5, #1\n"
        "mul r9, r9, r6\n"
        "add r0, r0, r9\n"
        "add r1, r0, r5\n"
        "add r2, r2, r9\n"
        "add r3, r2, r5\n"
        "rsb r9, r9, #0\n"
        "vmov s2, s3, r9, r12\n"
        "mov r5, r6\n"
        "vmov r8, s0\n"
        "1:\n"
        "ldm r8!, {r9, r10, r12}\n"
        "vmov s0, r8\n"
        "sxtb16 r11, r10\n"
        "sxtb16 r10, r10, ror #8\n"
        "vmov r4, r7, s2, s3\n"
        "vmov r6, s4\n"
        "sub r8, r4, r5\n"
        "lsls r7, r7, #31\n"
        "it pl\n"
        "ldrsbpl r6, [r0, r8]\n"
        "ldrsb r8, [r1, r8]\n"
        "pkhbt r6, r6, r8, lsl #16\n"
        "bcc 2f\n"
        "mov r7, r6\n"
        "b 3f\n"
        "2:\n"
        CCML_DEPTHWISE_LINE_PAIR("r6", "r7")
        "3:\n"
        CCML_DEPTHWISE_LINE_PAIR("r7", "r6")
        "bne 2b\n"
        "vmov r7, r4, s3, s4\n"
        "lsls r8, r7, #29\n"
        "bpl 4f\n"
        "ite cs\n"
        "ldrsbcs r8, [r0]\n"
        "movcc r8, r4\n"
        "pkhbt r8, r8, r4, lsl #16\n"
        CCML_DEPTHWISE_LINE_FIRST("r4", "r6", "r8")
        "strb r4, [r2]\n"
        "tst r7, #16\n"
        "beq 4f\n"
        CCML_DEPTHWISE_LINE_SECOND("r4", "r6", "r8")
        "strb r4, [r3]\n"
        "4:\n"
        "add r0, r0, #1\n"
        "add r1, r1, #1\n"
        "add r2, r2, #1\n"
        "add r3, r3, #1\n"
        "vmov r8, r7, s0, s1\n"
        "cmp r8, r7\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_LINE_FIRST
#undef CCML_DEPTHWISE_LINE_SECOND
#undef CCML_DEPTHWISE_LINE_PAIR
#endif

#endif
