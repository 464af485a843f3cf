/* Part of the ccml runtime: products and output transform of Winograd's algorithm F(2x2, 3x3), for four tiles and two
   channels at a time, to bytes.

   w has for each two channels their biases, for each place of a tile and each two channels of the input a word of
   halfwords per channel, then their factors. x is what ccml_winograd_input leaves, m 128 words in between. Accumulators
   are four times the sums.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_WINOGRAD_H
#define CCML_WINOGRAD_H

#include "ccml_gemm_packed_2x4.h"

#if CCML_ARM_DSP

#define CCML_WINOGRAD_SUMS(a0, a1, b0, b1) CCML_PACKED_2X4_SUMS("smlad", a0, a1, b0, b1)

/* A word of two channels of the input, of four tiles. The first begins the sums. */
#define CCML_WINOGRAD_STEP(at0, at1, at2, at3) \
    "ldr r11, [r0, #4]\n" \
    "ldr r10, [r0], #8\n" \
    "ldr lr, [r1, #" at1 "]\n" \
    "ldr r12, [r1, #" at0 "]\n" CCML_WINOGRAD_SUMS("r2", "r3", "r6", "r7") \
    "ldr lr, [r1, #" at3 "]\n" \
    "ldr r12, [r1, #" at2 "]\n" CCML_WINOGRAD_SUMS("r4", "r5", "r8", "r9")
#define CCML_WINOGRAD_BEGIN(a0, a1, b0, b1) \
    "smuad " a0 ", r10, r12\n" \
    "smuad " a1 ", r10, lr\n" \
    "smuad " b0 ", r11, r12\n" \
    "smuad " b1 ", r11, lr\n"

/* The sums in a row of places in r2 to r5, m1, m0 + m1, m2 and m2 + m3: m0 + m1 + m2 to `left`, m1 - m2 - m3 to
   `right`. */
#define CCML_WINOGRAD_ROW_OF_SUMS(at0, at1, at2, at3) \
    "ldr r2, [r1, #" at0 "]\n" \
    "ldr r3, [r1, #" at1 "]\n" \
    "ldr r4, [r1, #" at2 "]\n" \
    "ldr r5, [r1, #" at3 "]\n"
#define CCML_WINOGRAD_ADDED(left, right) \
    "add " left ", r3, r4\n" \
    "sub " right ", r2, r5\n"

/* A tile of a channel as bytes: y00, y01, y10, y11. The bias is in the sum that is part of all four. `finish` makes
   bytes of the accumulators by the factor in `f` and what is in `added`, behind it; it may change r2 to r5. */
#define CCML_WINOGRAD_TILE( \
    y00, y01, y10, y11, f, added, finish, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3) \
    CCML_WINOGRAD_ROW_OF_SUMS(a0, a1, a2, a3) CCML_WINOGRAD_ADDED(y00, y01) \
    CCML_WINOGRAD_ROW_OF_SUMS(b0, b1, b2, b3) CCML_WINOGRAD_ADDED(y10, y11) \
    "add " y00 ", " y00 ", " y10 "\n" \
    "add " y01 ", " y01 ", " y11 "\n" \
    CCML_WINOGRAD_ROW_OF_SUMS(c0, c1, c2, c3) CCML_WINOGRAD_ADDED("r3", "r2") \
    "add " y00 ", " y00 ", r3\n" \
    "sub " y10 ", " y10 ", r3\n" \
    "add " y01 ", " y01 ", r2\n" \
    "sub " y11 ", " y11 ", r2\n" \
    CCML_WINOGRAD_ROW_OF_SUMS(d0, d1, d2, d3) CCML_WINOGRAD_ADDED("r3", "r2") \
    "sub " y10 ", " y10 ", r3\n" \
    "sub " y11 ", " y11 ", r2\n" \
    finish(f, added, y00, y01, y10, y11)

/* void f(const int32_t *w, const int32_t *x, int32_t *m, int8_t *y0, int8_t *y1, int32_t groups, int32_t channels,
   int32_t step, ...). `setup` finds its arguments from sp + 64 on, may change r4 to r7, and leaves what `finish` needs in
   s1, s3 and s4.

   Sums of every second place go on from those of the one before, those of the first from the biases. In s0 and s2 the
   factors, s7 the
   distance of pixels, s8 and s9 where results go, s10 4096 bytes less than where the words of the first place end, s11
   from there to where those of the next begin, s12 where to go behind the first step
   and s13 what x is moved by for that, s14 where sums go, s15 where those of the first place and channel end. On the
   stack: x, and behind another word the end of the first row of results. */
#define CCML_WINOGRAD(setup, finish) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r11, lr}\n" \
        "sub sp, sp, #12\n" \
        "ldrd r4, r5, [sp, #48]\n" \
        "ldrd r6, r7, [sp, #56]\n" \
        "vmov s8, s9, r3, r4\n" \
        "add r6, r6, r3\n" \
        "str r6, [sp, #8]\n" \
        "vmov s7, r7\n" \
        "str r1, [sp]\n" \
        "add r6, r1, r5, lsl #9\n" \
        "sub r7, r1, r6\n" \
        "add r7, r7, #16\n" \
        "add r7, r7, #4096\n" \
        "sub r6, r6, #4096\n" \
        "vmov s10, s11, r6, r7\n" \
        "lsl r5, r5, #1\n" \
        "sub r5, r5, #2\n" \
        "and r5, r5, #15\n" \
        "add r5, r5, #1\n" \
        "mov r6, #(3f - 2f) / 16\n" \
        "adr.w r7, 3f\n" \
        "mls r7, r5, r6, r7\n" \
        "orr r7, r7, #1\n" \
        "sub r5, r5, #15\n" \
        "lsl r5, r5, #8\n" \
        "vmov s12, s13, r7, r5\n" \
        "add r5, r2, #16\n" \
        "vmov s14, s15, r2, r5\n" \
        setup \
        "1:\n" \
        "ldr r1, [sp]\n" \
        "ldrd r2, r6, [r0], #8\n" \
        "mov r3, r2\n" \
        "mov r4, r2\n" \
        "mov r5, r2\n" \
        "mov r7, r6\n" \
        "mov r8, r6\n" \
        "mov r9, r6\n" \
        "b.w 6f\n" \
        "4:\n" \
        "ldr r11, [r0, #4]\n" \
        "ldr r10, [r0], #8\n" \
        "ldr lr, [r1, #4]\n" \
        "ldr r12, [r1]\n" CCML_WINOGRAD_BEGIN("r2", "r3", "r6", "r7") \
        "ldr lr, [r1, #12]\n" \
        "ldr r12, [r1, #8]\n" CCML_WINOGRAD_BEGIN("r4", "r5", "r8", "r9") \
        "vmov r10, r11, s12, s13\n" \
        "add r1, r1, r11\n" \
        "bx r10\n" \
        ".p2align 2\n" \
        "2:\n" CCML_WINOGRAD_STEP("0", "4", "8", "12") \
        CCML_WINOGRAD_STEP("256", "260", "264", "268") CCML_WINOGRAD_STEP("512", "516", "520", "524") \
        CCML_WINOGRAD_STEP("768", "772", "776", "780") CCML_WINOGRAD_STEP("1024", "1028", "1032", "1036") \
        CCML_WINOGRAD_STEP("1280", "1284", "1288", "1292") CCML_WINOGRAD_STEP("1536", "1540", "1544", "1548") \
        CCML_WINOGRAD_STEP("1792", "1796", "1800", "1804") CCML_WINOGRAD_STEP("2048", "2052", "2056", "2060") \
        CCML_WINOGRAD_STEP("2304", "2308", "2312", "2316") CCML_WINOGRAD_STEP("2560", "2564", "2568", "2572") \
        CCML_WINOGRAD_STEP("2816", "2820", "2824", "2828") CCML_WINOGRAD_STEP("3072", "3076", "3080", "3084") \
        CCML_WINOGRAD_STEP("3328", "3332", "3336", "3340") CCML_WINOGRAD_STEP("3584", "3588", "3592", "3596") \
        CCML_WINOGRAD_STEP("3840", "3844", "3848", "3852") \
        "3:\n" \
        "vmov r10, r11, s10, s11\n" \
        "cmp r1, r10\n" \
        "blo.w 7f\n" \
        "sub r10, r1, r10\n" \
        "vmov r12, s14\n" \
        "add r12, r12, r10, lsl #1\n" \
        "stm r12, {r2-r9}\n" \
        "add r1, r1, r11\n" \
        "tst r10, #16\n" \
        "beq.w 6f\n" \
        "cmp r10, #240\n" \
        "bne.w 4b\n" \
        "vmov r1, s14\n" \
        "ldrd r2, r3, [r0], #8\n" \
        "vmov s0, r2\n" \
        "vmov s2, r3\n" \
        "5:\n" \
        CCML_WINOGRAD_TILE( \
            "r6", "r7", "r8", "r9", "s0", "s1", finish, "128", "160", "192", "224", "0", "32", "64", "96", \
            "256", "288", "320", "352", "384", "416", "448", "480") \
        CCML_WINOGRAD_TILE( \
            "r10", "r11", "r12", "lr", "s2", "s3", finish, "144", "176", "208", "240", "16", "48", "80", "112", \
            "272", "304", "336", "368", "400", "432", "464", "496") \
        "bfi r6, r10, #8, #8\n" \
        "bfi r7, r11, #8, #8\n" \
        "bfi r8, r12, #8, #8\n" \
        "bfi r9, lr, #8, #8\n" \
        "vmov r2, r3, s8, s9\n" \
        "vmov r4, s7\n" \
        "strh r6, [r2]\n" \
        "strh r7, [r2, r4]\n" \
        "strh r8, [r3]\n" \
        "strh r9, [r3, r4]\n" \
        "add r2, r2, r4, lsl #1\n" \
        "add r3, r3, r4, lsl #1\n" \
        "vmov s8, s9, r2, r3\n" \
        "add r1, r1, #4\n" \
        "vmov r5, s15\n" \
        "cmp r1, r5\n" \
        "bne.w 5b\n" \
        "rsb r4, r4, #0\n" \
        "lsl r4, r4, #3\n" \
        "add r4, r4, #2\n" \
        "add r2, r2, r4\n" \
        "add r3, r3, r4\n" \
        "vmov s8, s9, r2, r3\n" \
        "ldr r4, [sp, #8]\n" \
        "cmp r2, r4\n" \
        "bne.w 1b\n" \
        "add sp, sp, #12\n" \
        "pop {r4-r11, pc}\n" \
        "6:\n" \
        "ldr r11, [r0, #4]\n" \
        "ldr r10, [r0], #8\n" \
        "ldr lr, [r1, #4]\n" \
        "ldr r12, [r1]\n" CCML_WINOGRAD_SUMS("r2", "r3", "r6", "r7") \
        "ldr lr, [r1, #12]\n" \
        "ldr r12, [r1, #8]\n" CCML_WINOGRAD_SUMS("r4", "r5", "r8", "r9") \
        "vmov r10, r11, s12, s13\n" \
        "add r1, r1, r11\n" \
        "bx r10\n" \
        "7:\n" \
        "add r1, r1, #4096\n" \
        "b.w 2b\n")
#endif

#endif
