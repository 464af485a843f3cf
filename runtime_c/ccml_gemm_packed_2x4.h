/* Part of the ccml runtime: four staged pixels (or one of them) by all channels, two channels at a time.

   w has for each two channels their biases, a word of weights per channel for each group of four k (two halfwords
   w1 - 256 * w0 and 256 * w2 - w3), then (to requantize) their float32 scales. x has eight words for each group: the low
   bytes of four flipped bytes, exchanged, for each pixel, then these bytes for each pixel. Accumulators are 256 times the
   sums. The channels are an even number.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_2X4_H
#define CCML_GEMM_PACKED_2X4_H

#include "ccml_bits.h"
#include "ccml_dot.h"
#include "ccml_tile.h"

#if CCML_ARM_DSP

/* Two pixels, in r12 and lr, by two channels, whose weights are in r10 and r11: low bytes of activations by whole
   halfwords of weights, and whole halfwords of activations by low bytes of weights. */
#define CCML_PACKED_2X4_LOW(a0, a1, b0, b1) CCML_PACKED_2X4_SUMS("smlsdx", a0, a1, b0, b1)
#define CCML_PACKED_2X4_WHOLE(a0, a1, b0, b1) CCML_PACKED_2X4_SUMS("smlsd", a0, a1, b0, b1)
#define CCML_PACKED_2X4_SUMS(multiply, a0, a1, b0, b1) \
    multiply " " a0 ", r12, r10, " a0 "\n" \
    multiply " " a1 ", lr, r10, " a1 "\n" \
    multiply " " b0 ", r12, r11, " b0 "\n" \
    multiply " " b1 ", lr, r11, " b1 "\n"

#define CCML_PACKED_2X4_EVEN \
    "sxtb16 r10, r10\n" \
    "sxtb16 r11, r11\n"

/* 25 instructions: a group of four k, accumulators in r2 to r5 and r6 to r9. Single loads that
   follow each other take less time than pairs. */
#define CCML_PACKED_2X4_LOADED "ldrd r12, lr, [r1], #8\n"
#define CCML_PACKED_2X4_GROUP \
    "ldr r11, [r0, #4]\n" \
    "ldr r10, [r0], #8\n" \
    "ldr lr, [r1, #4]\n" \
    "ldr r12, [r1], #8\n" CCML_PACKED_2X4_LOW("r2", "r3", "r6", "r7") \
    CCML_PACKED_2X4_LOADED CCML_PACKED_2X4_LOW("r4", "r5", "r8", "r9") CCML_PACKED_2X4_EVEN \
    CCML_PACKED_2X4_LOADED CCML_PACKED_2X4_WHOLE("r2", "r3", "r6", "r7") \
    CCML_PACKED_2X4_LOADED CCML_PACKED_2X4_WHOLE("r4", "r5", "r8", "r9")

/* The same, 23 instructions, with the activations in floating-point registers. */
#define CCML_PACKED_2X4_MOVED(x0, x1) "vmov r12, lr, " x0 ", " x1 "\n"
#define CCML_PACKED_2X4_KEPT(x0, x1, x2, x3, x4, x5, x6, x7) \
    "ldrd r10, r11, [r0], #8\n" \
    CCML_PACKED_2X4_MOVED(x0, x1) CCML_PACKED_2X4_LOW("r2", "r3", "r6", "r7") \
    CCML_PACKED_2X4_MOVED(x2, x3) CCML_PACKED_2X4_LOW("r4", "r5", "r8", "r9") CCML_PACKED_2X4_EVEN \
    CCML_PACKED_2X4_MOVED(x4, x5) CCML_PACKED_2X4_WHOLE("r2", "r3", "r6", "r7") \
    CCML_PACKED_2X4_MOVED(x6, x7) CCML_PACKED_2X4_WHOLE("r4", "r5", "r8", "r9")

/* The first group, with the biases in front of its weights. */
#define CCML_PACKED_2X4_FIRST \
    "ldm r0!, {r5, r9, r10, r11}\n" \
    CCML_PACKED_2X4_MOVED("s0", "s1") \
    "smlsdx r2, r12, r10, r5\n" \
    "smlsdx r3, lr, r10, r5\n" \
    "smlsdx r6, r12, r11, r9\n" \
    "smlsdx r7, lr, r11, r9\n" \
    CCML_PACKED_2X4_MOVED("s2", "s3") \
    "smlsdx r4, r12, r10, r5\n" \
    "smlsdx r5, lr, r10, r5\n" \
    "smlsdx r8, r12, r11, r9\n" \
    "smlsdx r9, lr, r11, r9\n" CCML_PACKED_2X4_EVEN \
    CCML_PACKED_2X4_MOVED("s4", "s5") CCML_PACKED_2X4_WHOLE("r2", "r3", "r6", "r7") \
    CCML_PACKED_2X4_MOVED("s6", "s7") CCML_PACKED_2X4_WHOLE("r4", "r5", "r8", "r9")

/* What CCML_PACKED_2X4 takes as `last`: how many groups at the end have their activations in floating-point registers,
   where these are loaded (x ends at r6, flags compare the groups with 2), and their products. */
#define CCML_PACKED_2X4_LAST_ONE \
    "1", \
    "it ge\n" \
    "vldmdbge r6!, {s8-s15}\n", \
    CCML_PACKED_2X4_KEPT("s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15")
#define CCML_PACKED_2X4_LAST_TWO \
    "2", \
    "it ge\n" \
    "vldmdbge r6!, {s16-s23}\n" \
    "it gt\n" \
    "vldmdbgt r6!, {s8-s15}\n", \
    CCML_PACKED_2X4_KEPT("s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15") \
    CCML_PACKED_2X4_KEPT("s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23")

/* void f(const int32_t *w, const int32_t *x, T *y0, T *y1, T *y2, T *y3, int32_t groups, int32_t channels, ...), where
   T has 1 << scale bytes.

   The activations of the first and of the last groups stay in s0 and above for all channels. s24 to s27 have y0 to
   y3, s28 the activations in between, s29 where to begin with them, s30 their end; the end of y0 is at sp + 4. `setup`
   finds its arguments from sp + 116 on and puts into r6 and r7 what `finish` has in s31 and at sp. `finish` ends with
   y0 to y3 in r10 to r12 and lr. */
#define CCML_PACKED_2X4(scale, last, setup, finish) CCML_PACKED_2X4_WITH(scale, last, setup, finish)
#define CCML_PACKED_2X4_WITH(scale, number, load, products, setup, finish) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r11, lr}\n" \
        "vpush {s16-s31}\n" \
        "ldrd r4, r5, [sp, #100]\n" \
        "vmov s24, s25, r2, r3\n" \
        "vmov s26, s27, r4, r5\n" \
        "ldrd r4, r5, [sp, #108]\n" \
        "add r8, r2, r5, lsl #" #scale "\n" \
        setup \
        "vmov s31, r6\n" \
        "push {r7, r8}\n" \
        "add r6, r1, r4, lsl #5\n" \
        "vldmia r1!, {s0-s7}\n" \
        "cmp r4, #2\n" load \
        "sub r2, r4, #1\n" \
        "subs r4, r4, #2 + " number "\n" \
        "and r4, r4, #7\n" \
        "add r4, r4, #1\n" \
        "mov r5, #(3f - 2f) / 8\n" \
        "adr.w r7, 3f\n" \
        "ittt lt\n" \
        "movlt r4, r2\n" \
        "movlt r5, #(4f - 6f) / " number "\n" \
        "adrlt.w r7, 4f\n" \
        "mls r7, r4, r5, r7\n" \
        "orr r7, r7, #1\n" \
        "vmov s28, s29, r1, r7\n" \
        "vmov s30, r6\n" \
        "b.w 1f\n" \
        ".p2align 2\n" \
        "2:\n" CCML_REPEAT("8", CCML_PACKED_2X4_GROUP) \
        "3:\n" \
        "vmov r10, s30\n" \
        "cmp r1, r10\n" \
        "bne.w 2b\n" \
        "6:\n" products \
        "4:\n" finish \
        "ldr r1, [sp, #4]\n" \
        "vmov s24, s25, r10, r11\n" \
        "vmov s26, s27, r12, lr\n" \
        "cmp r10, r1\n" \
        "beq.w 5f\n" \
        "1:\n" CCML_PACKED_2X4_FIRST \
        "vmov r1, r10, s28, s29\n" \
        "bx r10\n" \
        "5:\n" \
        "add sp, sp, #8\n" \
        "vpop {s16-s31}\n" \
        "pop {r4-r11, pc}\n")

/* y0 to y3 to r10 to r12 and lr. */
#define CCML_PACKED_2X4_POINTERS \
    "vmov r10, r11, s24, s25\n" \
    "vmov r12, lr, s26, s27\n"

#define CCML_PACKED_2X1_GROUP \
    "ldr lr, [r1, #16]\n" \
    "ldr r11, [r0, #4]\n" \
    "ldr r10, [r0], #8\n" \
    "ldr r9, [r1], #32\n" \
    "smlsdx r2, r9, r10, r2\n" \
    "smlsdx r3, r9, r11, r3\n" CCML_PACKED_2X4_EVEN \
    "smlsd r2, lr, r10, r2\n" \
    "smlsd r3, lr, r11, r3\n"

/* The same for one pixel: void f(const int32_t *w, const int32_t *x, T *y, int32_t groups, int32_t channels, ...).
   Accumulators in r2 and r3; y in r12. Registers for `setup` and `finish`: r4 (the end of x), r7 and above. */
#define CCML_PACKED_2X1(scale, setup, finish) \
    __asm__ volatile( \
        ".syntax unified\n" \
        "push {r4-r11, lr}\n" \
        "ldr r5, [sp, #36]\n" \
        "mov r12, r2\n" \
        "add r5, r2, r5, lsl #" #scale "\n" \
        "add r4, r1, r3, lsl #5\n" \
        "mov r6, r1\n" \
        setup \
        "1:\n" \
        "ldrd r2, r3, [r0], #8\n" \
        "mov r1, r6\n" \
        "sub lr, r4, r6\n" \
        "tst lr, #32\n" \
        "bne 3f\n" \
        "2:\n" CCML_PACKED_2X1_GROUP \
        "3:\n" CCML_PACKED_2X1_GROUP \
        "cmp r1, r4\n" \
        "bne 2b\n" \
        finish \
        "cmp r12, r5\n" \
        "bne 1b\n" \
        "pop {r4-r11, pc}\n")

/* float(acc) * scale + 1.5 * 2^23, whose bits have the rounded product; the constant in `rounder`. */
#define CCML_PACKED_2X4_SCALE(acc, scale, rounder) \
    "vcvt.f32.s32 " acc ", " acc "\n" \
    "vmul.f32 " acc ", " acc ", " scale "\n" \
    "vadd.f32 " acc ", " acc ", " rounder "\n"

/* What is added to upper words of products before they are shifted: the zero point and a half, in r6. The zero point in
   r6, the shift in r7; r9 is lost. */
#define CCML_PACKED_2X4_OFFSET \
    "mov r9, #1\n" \
    "lsl r6, r6, r7\n" \
    "lsl r9, r9, r7\n" \
    "add r6, r6, r9, lsr #1\n"

/* The accumulators as bytes: the upper words of their products with the factors of their channels, shifted by `shift`,
   a macro. What is added before is in r1. */
#define CCML_PACKED_2X4_FIXED_CHANNEL(a0, a1, a2, a3, factor, shift) \
    "smmla " a0 ", " a0 ", " factor ", r1\n" \
    "smmla " a1 ", " a1 ", " factor ", r1\n" \
    "smmla " a2 ", " a2 ", " factor ", r1\n" \
    "smmla " a3 ", " a3 ", " factor ", r1\n" \
    shift(a0) shift(a1) shift(a2) shift(a3)
#define CCML_PACKED_2X4_FIXED(shift) \
    "ldrd r10, r11, [r0], #8\n" \
    "vmov r1, s31\n" \
    CCML_PACKED_2X4_FIXED_CHANNEL("r2", "r3", "r4", "r5", "r10", shift) \
    CCML_PACKED_2X4_FIXED_CHANNEL("r6", "r7", "r8", "r9", "r11", shift) CCML_PACKED_2X4_POINTERS CCML_PACKED_2X4_STORES

/* Two channels in a and b of one pixel to *y++. */
#define CCML_PACKED_2X4_STORE(a, b, y) \
    "bfi " a ", " b ", #8, #8\n" \
    "strh " a ", [" y "], #2\n"

#define CCML_PACKED_2X4_STORES \
    CCML_PACKED_2X4_STORE("r2", "r6", "r10") \
    CCML_PACKED_2X4_STORE("r3", "r7", "r11") \
    CCML_PACKED_2X4_STORE("r4", "r8", "r12") \
    CCML_PACKED_2X4_STORE("r5", "r9", "lr")
#endif

#endif
