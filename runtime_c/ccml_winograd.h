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

/* The first step of a place, and to where the others begin. */
#define CCML_WINOGRAD_FIRST(sums) \
    "ldr r11, [r0, #4]\n" \
    "ldr r10, [r0], #8\n" \
    "ldr lr, [r1, #4]\n" \
    "ldr r12, [r1]\n" sums("r2", "r3", "r6", "r7") \
    "ldr lr, [r1, #12]\n" \
    "ldr r12, [r1, #8]\n" sums("r4", "r5", "r8", "r9") \
    "vmov r10, r11, s12, s13\n" \
    "add r1, r1, r11\n" \
    "bx r10\n"

/* The sums in a row of places in r2 to r5, m1, m0 + m1, m2 and m2 + m3: m0 + m1 + m2 to `left`, m1 - m2 - m3 to
   `right`. */
#define CCML_WINOGRAD_ROW_OF_SUMS(at0, at1, at2, at3, left, right) \
    "ldr r2, [r1, #" at0 "]\n" \
    "ldr r3, [r1, #" at1 "]\n" \
    "ldr r4, [r1, #" at2 "]\n" \
    "ldr r5, [r1, #" at3 "]\n" \
    "adds " left ", r3, r4\n" \
    "subs " right ", r2, r5\n"

/* A tile of a channel to r6 to r9: y00, y01, y10, y11. The bias is in the sum that is part of all four. `finish` makes
   bytes of the accumulators by the factor in s0; it may change r2 to r5. */
#define CCML_WINOGRAD_TILE(finish) \
    CCML_WINOGRAD_ROW_OF_SUMS("128", "160", "192", "224", "r6", "r7") \
    CCML_WINOGRAD_ROW_OF_SUMS("0", "32", "64", "96", "r8", "r9") \
    "add r6, r6, r8\n" \
    "add r7, r7, r9\n" \
    CCML_WINOGRAD_ROW_OF_SUMS("256", "288", "320", "352", "r3", "r2") \
    "add r6, r6, r3\n" \
    "sub r8, r8, r3\n" \
    "add r7, r7, r2\n" \
    "sub r9, r9, r2\n" \
    CCML_WINOGRAD_ROW_OF_SUMS("384", "416", "448", "480", "r3", "r2") \
    "sub r8, r8, r3\n" \
    "sub r9, r9, r2\n" \
    finish

/* What CCML_WINOGRAD takes as `chain`: how many steps of a place are written out, these, and how sums begin that no
   others are in front of: as zero, in front of the first step, or with it. */
#define CCML_WINOGRAD_FOUR \
    "4", \
    CCML_WINOGRAD_STEP("0", "4", "8", "12") CCML_WINOGRAD_STEP("256", "260", "264", "268") \
    CCML_WINOGRAD_STEP("512", "516", "520", "524") CCML_WINOGRAD_STEP("768", "772", "776", "780"), \
    "movs r2, #0\n" \
    "mov r3, r2\n" \
    "mov r4, r2\n" \
    "mov r5, r2\n" \
    "mov r6, r2\n" \
    "mov r7, r2\n" \
    "mov r8, r2\n" \
    "mov r9, r2\n"
#define CCML_WINOGRAD_SIXTEEN \
    "16", \
    CCML_WINOGRAD_STEP("0", "4", "8", "12") CCML_WINOGRAD_STEP("256", "260", "264", "268") \
    CCML_WINOGRAD_STEP("512", "516", "520", "524") CCML_WINOGRAD_STEP("768", "772", "776", "780") \
    CCML_WINOGRAD_STEP("1024", "1028", "1032", "1036") CCML_WINOGRAD_STEP("1280", "1284", "1288", "1292") \
    CCML_WINOGRAD_STEP("1536", "1540", "1544", "1548") CCML_WINOGRAD_STEP("1792", "1796", "1800", "1804") \
    CCML_WINOGRAD_STEP("2048", "2052", "2056", "2060") CCML_WINOGRAD_STEP("2304", "2308", "2312", "2316") \
    CCML_WINOGRAD_STEP("2560", "2564", "2568", "2572") CCML_WINOGRAD_STEP("2816", "2820", "2824", "2828") \
    CCML_WINOGRAD_STEP("3072", "3076", "3080", "3084") CCML_WINOGRAD_STEP("3328", "3332", "3336", "3340") \
    CCML_WINOGRAD_STEP("3584", "3588", "3592", "3596") CCML_WINOGRAD_STEP("3840", "3844", "3848", "3852"), \
    CCML_WINOGRAD_FIRST(CCML_WINOGRAD_BEGIN)

/* void f(const int32_t *w, const int32_t *x, int32_t *m, int8_t *y0, int8_t *y1, int32_t groups, int32_t channels,
   int32_t step, ...). `setup` finds its arguments from sp + 64 on and may change r4 to r7.

   Sums of every second place go on from those of the one before, those of the first from the biases. In s0 and s2 the
   factors, s1, s3 and s4 what `setup` leaves for `finish`, s7 the distance of pixels, s8 and s9 where results go, s10
   where the words of the first place end, s11 from there to where those of the next begin, s12 where to go behind the
   first step and s13 what x is moved by for that, s14 where sums go. On the stack: x, and behind another word the end of
   the first row of results. */
#define CCML_WINOGRAD(chain, setup, finish) CCML_WINOGRAD_WITH(chain, setup, finish)
#define CCML_WINOGRAD_WITH(number, steps, begin, setup, finish) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r11, lr}\n" \
        "sub sp, sp, #12\n" \
        "ldrd r4, r5, [sp, #48]\n" \
        "ldrd r6, r7, [sp, #56]\n" \
        "vmov s8, s9, r3, r4\n" \
        "adds r6, r6, r3\n" \
        "str r6, [sp, #8]\n" \
        "vmov s7, r7\n" \
        "str r1, [sp]\n" \
        "add r6, r1, r5, lsl #9\n" \
        "subs r7, r1, r6\n" \
        "adds r7, r7, #16\n" \
        "vmov s10, s11, r6, r7\n" \
        "lsls r5, r5, #1\n" \
        "subs r5, r5, #2\n" \
        "and r5, r5, #" number " - 1\n" \
        "adds r5, r5, #1\n" \
        "movs r6, #(3f - 2f) / " number "\n" \
        "adr.w r7, 3f\n" \
        "mls r7, r5, r6, r7\n" \
        "orr r7, r7, #1\n" \
        "subs r5, r5, #" number " - 1\n" \
        "lsls r5, r5, #8\n" \
        "vmov s12, s13, r7, r5\n" \
        "vmov s14, r2\n" \
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
        ".p2align 2\n" \
        "2:\n" steps \
        "3:\n" \
        "add r1, r1, #256 * " number "\n" \
        "vmov r10, r11, s10, s11\n" \
        "cmp r1, r10\n" \
        "blo.w 2b\n" \
        "sub r10, r1, r10\n" \
        "vmov r12, s14\n" \
        "add r12, r12, r10, lsl #1\n" \
        "stm r12, {r2-r9}\n" \
        "add r1, r1, r11\n" \
        "tst r10, #16\n" \
        "beq.w 6f\n" \
        "cmp r10, #240\n" \
        "bne.w 4f\n" \
        "vmov r1, s14\n" \
        "ldrd r2, r3, [r0], #8\n" \
        "vmov s0, r2\n" \
        "vmov s2, r3\n" \
        "add r10, r1, #16\n" \
        "vmov r11, s7\n" \
        "vmov r12, lr, s8, s9\n" \
        "5:\n" \
        CCML_WINOGRAD_TILE(finish) \
        "strb r6, [r12]\n" \
        "strb r7, [r12, r11]\n" \
        "strb r8, [lr]\n" \
        "strb r9, [lr, r11]\n" \
        "add r12, r12, r11, lsl #1\n" \
        "add lr, lr, r11, lsl #1\n" \
        "adds r1, r1, #4\n" \
        "cmp r1, r10\n" \
        "bne.w 5b\n" \
        "add r12, r12, #1\n" \
        "sub r12, r12, r11, lsl #3\n" \
        "add lr, lr, #1\n" \
        "sub lr, lr, r11, lsl #3\n" \
        "vmov.f32 s0, s2\n" \
        "vmov r2, s14\n" \
        "adds r2, r2, #16\n" \
        "cmp r10, r2\n" \
        "add r10, r10, #16\n" \
        "beq.w 5b\n" \
        "vmov s8, s9, r12, lr\n" \
        "ldr r4, [sp, #8]\n" \
        "cmp r12, r4\n" \
        "bne.w 1b\n" \
        "add sp, sp, #12\n" \
        "pop {r4-r11, pc}\n" \
        "4:\n" begin \
        "6:\n" CCML_WINOGRAD_FIRST(CCML_WINOGRAD_SUMS))

/* `setup` and `finish` for a shift of 6: in s1 what is added to the upper words of products. */
#define CCML_WINOGRAD_FIXED6_SETUP \
    "ldr r4, [sp, #64]\n" \
    "lsls r4, r4, #6\n" \
    "adds r4, r4, #32\n" \
    "vmov s1, r4\n"
#define CCML_WINOGRAD_FIXED6_BYTE(y) \
    "smmla " y ", " y ", r2, r3\n" \
    "ssat " y ", #8, " y ", asr #6\n"
#define CCML_WINOGRAD_FIXED6_BYTES \
    "vmov r2, r3, s0, s1\n" \
    CCML_WINOGRAD_FIXED6_BYTE("r6") CCML_WINOGRAD_FIXED6_BYTE("r7") \
    CCML_WINOGRAD_FIXED6_BYTE("r8") CCML_WINOGRAD_FIXED6_BYTE("r9")
#endif

#endif
