/* Part of the ccml runtime: depthwise convolution with up to nine taps, sixteen channels at a time, in halfwords.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_NINE_HALFWORD_H
#define CCML_HELIUM_DEPTHWISE_NINE_HALFWORD_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_DEPTHWISE_NINE_HALFWORD 1
/* One more tap, of which q2 and q3 are the sums; loads for the next one are `load0` and `load1`. */
#define CCML_HELIUM_NINE_TAP(x, w, load0, load1) \
    "vmullb.s8 q6, " x ", " w "\n" \
    load0 \
    "vmullt.s8 q7, " x ", " w "\n" \
    "vqadd.s16 q2, q2, q6\n" \
    load1 \
    "vqadd.s16 q3, q3, q7\n"

/* A tile of channels: sums of even channels are in q2, those of odd ones in q3. Where one leaves its halfword, which sets
   QC, the way leads to label 9; it is cleared with r12, in which it is not set. Rounded products with r11 are shifts to
   the right. */
#define CCML_HELIUM_NINE_TILE \
    "vldrb.u8 q0, [r1], #16\n" \
    "vldrw.u32 q1, [r0], #240\n" \
    "vmsr FPSCR_nzcvqc, r12\n" \
    "vmullb.s8 q2, q0, q1\n" \
    "vldrb.u8 q4, [r2], #16\n" \
    "vmullt.s8 q3, q0, q1\n" \
    "vldrw.u32 q6, [r0, #-80]\n" \
    "vadd.i16 q2, q2, q6\n" \
    "vldrw.u32 q7, [r0, #-32]\n" \
    "vadd.i16 q3, q3, q7\n" \
    "vldrw.u32 q5, [r0, #-224]\n" \
    CCML_HELIUM_NINE_TAP("q4", "q5", "vldrb.u8 q0, [r3], #16\n", "vldrw.u32 q1, [r0, #-208]\n") \
    CCML_HELIUM_NINE_TAP("q0", "q1", "vldrb.u8 q4, [r4], #16\n", "vldrw.u32 q5, [r0, #-192]\n") \
    CCML_HELIUM_NINE_TAP("q4", "q5", "vldrb.u8 q0, [r5], #16\n", "vldrw.u32 q1, [r0, #-176]\n") \
    CCML_HELIUM_NINE_TAP("q0", "q1", "vldrb.u8 q4, [r6], #16\n", "vldrw.u32 q5, [r0, #-160]\n") \
    CCML_HELIUM_NINE_TAP("q4", "q5", "vldrb.u8 q0, [r7], #16\n", "vldrw.u32 q1, [r0, #-144]\n") \
    CCML_HELIUM_NINE_TAP("q0", "q1", "vldrb.u8 q4, [r8], #16\n", "vldrw.u32 q5, [r0, #-128]\n") \
    CCML_HELIUM_NINE_TAP("q4", "q5", "vldrb.u8 q0, [r9], #16\n", "vldrw.u32 q1, [r0, #-112]\n") \
    CCML_HELIUM_NINE_TAP("q0", "q1", "vldrw.u32 q4, [r0, #-96]\n", "vldrw.u32 q5, [r0, #-48]\n") \
    "vmrs r12, FPSCR_nzcvqc\n" \
    "vldrw.u32 q6, [r0, #-64]\n" \
    "tst r12, #0x8000000\n" \
    "bne.w 9f\n" \
    "vqdmulh.s16 q2, q2, q4\n" \
    "vldrw.u32 q7, [r0, #-16]\n" \
    "vqdmulh.s16 q3, q3, q5\n" \
    "vqadd.s16 q2, q2, q6\n" \
    "vqadd.s16 q3, q3, q7\n" \
    "vqrdmulh.s16 q2, q2, r11\n" \
    "vqrdmulh.s16 q3, q3, r11\n" \
    "vqmovnb.s16 q2, q2\n" \
    "vqmovnt.s16 q2, q3\n" \
    "vstrb.8 q2, [r10], #16\n"

/* The product of a tap that r2 sees, in words: q2 to q5 are the sums of every other one of the even channels, of those
   between, and of odd ones likewise. */
#define CCML_HELIUM_NINE_WORDS \
    "vpst\n" \
    "vldrbt.u8 q0, [r2]\n" \
    "vldrw.u32 q1, [r0], #16\n" \
    "vmullb.s8 q6, q0, q1\n" \
    "vmullt.s8 q7, q0, q1\n" \
    "vmovlb.s16 q0, q6\n" \
    "vmovlt.s16 q1, q6\n" \
    "vadd.i32 q2, q2, q0\n" \
    "vmovlb.s16 q0, q7\n" \
    "vadd.i32 q3, q3, q1\n" \
    "vmovlt.s16 q1, q7\n" \
    "vadd.i32 q4, q4, q0\n" \
    "vadd.i32 q5, q5, q1\n"

/* Sums times the factors in q0, as halfwords of `sum`. */
#define CCML_HELIUM_NINE_SCALE(sum, other) \
    "vmovlb.s16 q1, q0\n" \
    "vmovlt.s16 q0, q0\n" \
    "vshl.i32 q1, q1, #16\n" \
    "vshl.i32 q0, q0, #16\n" \
    "vqdmulh.s32 " sum ", " sum ", q1\n" \
    "vqdmulh.s32 " other ", " other ", q0\n" \
    "vqmovnb.s32 " sum ", " sum "\n" \
    "vqmovnt.s32 " sum ", " other "\n"

/* r0 is the tile in w, r1 to r9 what the taps of a pixel see, r10 the result. On the stack: w, whole tiles, the channels
   that fill none, what lies between whole tiles of one pixel and of the next, the pixels left; the arguments from sp + 120
   on. What fills no tile, and tiles whose sums leave halfwords, are computed in words, tap by tap. */
CCML_NAKED ccml_helium_depthwise_nine_halfword(
    const int32_t *w CCML_UNUSED, const int8_t *x0 CCML_UNUSED, const int8_t *x1 CCML_UNUSED,
    const int8_t *x2 CCML_UNUSED, const int8_t *x3 CCML_UNUSED, const int8_t *x4 CCML_UNUSED,
    const int8_t *x5 CCML_UNUSED, const int8_t *x6 CCML_UNUSED, const int8_t *x7 CCML_UNUSED,
    const int8_t *x8 CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED, int32_t pixel_step CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "vpush {d8-d15}\n"
        "sub sp, sp, #24\n"
        "ldr r11, [sp, #164]\n"
        "rsb r11, r11, #15\n"
        "mov r12, #1\n"
        "lsl r11, r12, r11\n"
        "ldrd r4, r5, [sp, #152]\n"
        "ldr r6, [sp, #160]\n"
        "lsr lr, r6, #4\n"
        "strd r0, lr, [sp]\n"
        "and r7, r6, #15\n"
        "bic r6, r6, #15\n"
        "sub r5, r5, r6\n"
        "strd r7, r5, [sp, #8]\n"
        "str r4, [sp, #16]\n"
        "add r12, sp, #124\n"
        "ldm r12, {r4-r10}\n"
        "1:\n"
        "ldrd r0, lr, [sp]\n"
        "mov r12, #0\n"
        "wls lr, lr, 3f\n"
        "2:\n" CCML_HELIUM_NINE_TILE
        "le lr, 2b\n"
        "3:\n"
        "ldr r12, [sp, #8]\n"
        "cmp r12, #0\n"
        "bne.w 8f\n"
        "4:\n"
        "ldr r12, [sp, #12]\n"
        "add r1, r1, r12\n"
        "add r2, r2, r12\n"
        "add r3, r3, r12\n"
        "add r4, r4, r12\n"
        "add r5, r5, r12\n"
        "add r6, r6, r12\n"
        "add r7, r7, r12\n"
        "add r8, r8, r12\n"
        "add r9, r9, r12\n"
        "ldr r12, [sp, #16]\n"
        "subs r12, r12, #1\n"
        "str r12, [sp, #16]\n"
        "bgt.w 1b\n"
        "add sp, sp, #24\n"
        "vpop {d8-d15}\n"
        "pop {r4-r11, pc}\n"
        "8:\n"
        "vctp.8 r12\n"
        "mov r12, #0\n"
        "b 10f\n"
        "9:\n"
        "mov r12, #16\n"
        "sub r0, r0, #240\n"
        "vctp.8 r12\n"
        "10:\n"
        "push {r1-r9, lr}\n"
        "vldrw.u32 q6, [r0, #160]\n"
        "vldrw.u32 q7, [r0, #208]\n"
        "vmovlb.s16 q2, q6\n"
        "vmovlt.s16 q3, q6\n"
        "vmovlb.s16 q4, q7\n"
        "vmovlt.s16 q5, q7\n"
        "mov r1, sp\n"
        "mov r3, #9\n"
        "11:\n"
        "ldr r2, [r1], #4\n"
        "sub r2, r2, r12\n" CCML_HELIUM_NINE_WORDS
        "subs r3, r3, #1\n"
        "bgt 11b\n"
        "vldrw.u32 q0, [r0]\n" CCML_HELIUM_NINE_SCALE("q2", "q3")
        "vldrw.u32 q0, [r0, #48]\n" CCML_HELIUM_NINE_SCALE("q4", "q5")
        "vldrw.u32 q0, [r0, #32]\n"
        "vldrw.u32 q1, [r0, #80]\n"
        "vqadd.s16 q2, q2, q0\n"
        "vqadd.s16 q4, q4, q1\n"
        "vqrdmulh.s16 q2, q2, r11\n"
        "vqrdmulh.s16 q4, q4, r11\n"
        "add r0, r0, #96\n"
        "vqmovnb.s16 q2, q2\n"
        "vqmovnt.s16 q2, q4\n"
        "vpst\n"
        "vstrbt.8 q2, [r10]\n"
        "pop {r1-r9, lr}\n"
        "cmp r12, #0\n"
        "beq 12f\n"
        "add r10, r10, #16\n"
        "mov r12, #0\n"
        "le lr, 2b\n"
        "b 3b\n"
        "12:\n"
        "ldr r12, [sp, #8]\n"
        "add r10, r10, r12\n"
        "b 4b\n");
}

#undef CCML_HELIUM_NINE_TAP
#undef CCML_HELIUM_NINE_TILE
#undef CCML_HELIUM_NINE_WORDS
#undef CCML_HELIUM_NINE_SCALE
#endif

#endif
