/* Part of the ccml runtime: depthwise convolution with up to three taps, sixteen channels at a time, in halfwords.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_TAPS_HALFWORD_H
#define CCML_HELIUM_DEPTHWISE_TAPS_HALFWORD_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_HELIUM_TAPS_HALVES_SOME(q, from) "vpst\nvldrbt.u8 " q ", [" from "]\n"

/* A tile of channels of two pixels, with the same weights and numbers for both: sums of even channels are in q2 and q4,
   those of odd ones in q3 and q5. Where a sum leaves its halfword, which sets QC, the way leads to label 9; it is cleared
   with r12, in which it is not set. Loads, products and the rest take turns. */
#define CCML_HELIUM_TAPS_HALVES_TWO(shift) \
    "vldrb.u8 q0, [r1], #16\n" \
    "vldrw.u32 q1, [r0], #144\n" \
    "vmullb.s8 q2, q0, q1\n" \
    "vldrb.u8 q6, [r4], #16\n" \
    "vmullt.s8 q3, q0, q1\n" \
    "vmsr FPSCR_nzcvqc, r12\n" \
    "vmullb.s8 q4, q6, q1\n" \
    "vldrw.u32 q7, [r0, #-80]\n" \
    "vmullt.s8 q5, q6, q1\n" \
    "vadd.i16 q2, q2, q7\n" \
    "vldrw.u32 q6, [r0, #-32]\n" \
    "vadd.i16 q4, q4, q7\n" \
    "vldrb.u8 q0, [r2], #16\n" \
    "vadd.i16 q3, q3, q6\n" \
    "vldrw.u32 q1, [r0, #-128]\n" \
    "vadd.i16 q5, q5, q6\n" \
    CCML_HELIUM_TAPS_HALVES_TAP("r5", "vldrb.u8 q0, [r3], #16\n", "vldrw.u32 q1, [r0, #-112]\n") \
    CCML_HELIUM_TAPS_HALVES_TAP("r6", "vldrw.u32 q0, [r0, #-64]\n", "vldrw.u32 q1, [r0, #-96]\n") \
    "vmrs r12, FPSCR_nzcvqc\n" \
    "tst r12, #0x8000000\n" \
    "bne.w 9f\n" \
    "vqdmulh.s16 q2, q2, q1\n" \
    "vldrw.u32 q6, [r0, #-48]\n" \
    "vqdmulh.s16 q4, q4, q1\n" \
    "vqadd.s16 q2, q2, q0\n" \
    "vqdmulh.s16 q3, q3, q6\n" \
    "vqadd.s16 q4, q4, q0\n" \
    "vldrw.u32 q7, [r0, #-16]\n" \
    "vqrshrnb.s16 q2, q2, #" shift "\n" \
    "vqdmulh.s16 q5, q5, q6\n" \
    "vqadd.s16 q3, q3, q7\n" \
    "vqadd.s16 q5, q5, q7\n" \
    "vqrshrnt.s16 q2, q3, #" shift "\n" \
    "vqrshrnb.s16 q4, q4, #" shift "\n" \
    "vstrb.8 q2, [r7], #16\n" \
    "vqrshrnt.s16 q4, q5, #" shift "\n" \
    "vstrb.8 q4, [r8], #16\n"

/* One more tap of both pixels, of what the first one sees in q0 and weights in q1, which are loaded anew behind it. */
#define CCML_HELIUM_TAPS_HALVES_TAP(second, next0, next1) \
    "vmullb.s8 q6, q0, q1\n" \
    "vmullt.s8 q7, q0, q1\n" \
    "vqadd.s16 q2, q2, q6\n" \
    "vldrb.u8 q0, [" second "], #16\n" \
    "vmullb.s8 q6, q0, q1\n" \
    "vqadd.s16 q3, q3, q7\n" \
    "vmullt.s8 q7, q0, q1\n" \
    next0 \
    "vqadd.s16 q4, q4, q6\n" \
    next1 \
    "vqadd.s16 q5, q5, q7\n"

/* A tile of one pixel, of as many channels as the predicate says, the sum of two taps and the third product by
   themselves: whatever their sum is, it is multiplied as a word. */
#define CCML_HELIUM_TAPS_HALVES_ONE(shift) \
    CCML_HELIUM_TAPS_HALVES_SOME("q0", "r1") \
    "vldrw.u32 q1, [r0], #144\n" \
    "vmullb.s8 q2, q0, q1\n" \
    "vldrw.u32 q5, [r0, #-128]\n" \
    "vmullt.s8 q3, q0, q1\n" \
    CCML_HELIUM_TAPS_HALVES_SOME("q4", "r2") \
    "vmullb.s8 q6, q4, q5\n" \
    CCML_HELIUM_TAPS_HALVES_SOME("q0", "r3") \
    "vmullt.s8 q7, q4, q5\n" \
    "vldrw.u32 q1, [r0, #-112]\n" \
    "vadd.i16 q2, q2, q6\n" \
    "vmullb.s8 q4, q0, q1\n" \
    "vadd.i16 q3, q3, q7\n" \
    "vldrw.u32 q6, [r0, #-80]\n" \
    "vmullt.s8 q5, q0, q1\n" \
    "vldrw.u32 q7, [r0, #-32]\n" \
    "vadd.i16 q4, q4, q6\n" \
    "vldrw.u32 q6, [r0, #-96]\n" \
    "vadd.i16 q5, q5, q7\n" CCML_HELIUM_TAPS_HALVES_SCALE("q2", "q4") \
    "vldrw.u32 q6, [r0, #-48]\n" \
    CCML_HELIUM_TAPS_HALVES_SCALE("q3", "q5") \
    "vldrw.u32 q6, [r0, #-64]\n" \
    "vldrw.u32 q7, [r0, #-16]\n" \
    "vqadd.s16 q2, q2, q6\n" \
    "vqadd.s16 q3, q3, q7\n" \
    "vqrshrnb.s16 q2, q2, #" shift "\n" \
    "vqrshrnt.s16 q2, q3, #" shift "\n" \
    "vpst\n" \
    "vstrbt.8 q2, [r7]\n"

/* `sum` and `third` together by the factors in q6, as halfwords of `sum`. (The assembler of binutils makes VQRSHRN of
   VQSHRN.) */
#define CCML_HELIUM_TAPS_HALVES_SCALE(sum, third) \
    "vmullb.s16 q0, " sum ", q6\n" \
    "vmullb.s16 q1, " third ", q6\n" \
    "vmullt.s16 " sum ", " sum ", q6\n" \
    "vadd.i32 q0, q0, q1\n" \
    "vmullt.s16 q1, " third ", q6\n" \
    "vqadd.s32 q0, q0, q0\n" \
    "vadd.i32 " sum ", " sum ", q1\n" \
    "vqadd.s32 " sum ", " sum ", " sum "\n" \
    "vsri.32 " sum ", q0, #16\n"

/* r0 is the tile in w, r1 to r3 what the taps of a pixel see and r4 to r6 those of the next one, r7 and r8 the results of
   both, r10 the pixels left, r11 what lies between whole tiles of two pixels and of the next two. On the stack: w, whole
   tiles, the channels that fill none, what lies between results, x0 to x2; the arguments from sp + 132 on.

   Behind pairs of pixels come a last one and what fills no tile, one pixel at a time, as tiles of pairs do whose sums leave
   halfwords (label 9). What comes behind such a tile is in r11: 0 the rest of the next pixel, 1 the next tile of the last
   pixel, 2 the other pixel of a pair, 3 the next pair. */
#define CCML_HELIUM_DEPTHWISE_TAPS_HALFWORD(shift) \
    __asm__ volatile( \
        ".syntax unified\n" \
        "push {r4-r11, lr}\n" \
        "vpush {d8-d15}\n" \
        "sub sp, sp, #32\n" \
        "ldrd r7, r10, [sp, #132]\n" \
        "ldrd r11, r12, [sp, #140]\n" \
        "strd r1, r2, [sp, #16]\n" \
        "add r4, r1, r11\n" \
        "add r5, r2, r11\n" \
        "add r6, r3, r11\n" \
        "add r8, r7, r12\n" \
        "lsr lr, r12, #4\n" \
        "strd r0, lr, [sp]\n" \
        "and lr, r12, #15\n" \
        "bic r0, r12, #15\n" \
        "rsb r11, r0, r11, lsl #1\n" \
        "add r12, r12, lr\n" \
        "strd lr, r12, [sp, #8]\n" \
        "str r3, [sp, #24]\n" \
        "subs r10, r10, #2\n" \
        "blt 4f\n" \
        "1:\n" \
        "ldrd r0, lr, [sp]\n" \
        "mov r12, #0\n" \
        "wls lr, lr, 3f\n" \
        "2:\n" CCML_HELIUM_TAPS_HALVES_TWO(shift) \
        "le lr, 2b\n" \
        "3:\n" \
        "ldr r12, [sp, #12]\n" \
        "add r1, r1, r11\n" \
        "add r2, r2, r11\n" \
        "add r3, r3, r11\n" \
        "add r4, r4, r11\n" \
        "add r5, r5, r11\n" \
        "add r6, r6, r11\n" \
        "add r7, r7, r12\n" \
        "add r8, r8, r12\n" \
        "subs r10, r10, #2\n" \
        "bge.w 1b\n" \
        "4:\n" \
        "adds r10, r10, #2\n" \
        "beq 5f\n" \
        "mov r11, #1\n" \
        "ldr r0, [sp]\n" \
        "ldr r10, [sp, #144]\n" \
        "6:\n" \
        "vctp.8 r10\n" \
        "8:\n" CCML_HELIUM_TAPS_HALVES_ONE(shift) \
        "cmp r11, #1\n" \
        "blo 7f\n" \
        "bhi 10f\n" \
        "add r1, r1, #16\n" \
        "add r2, r2, #16\n" \
        "add r3, r3, #16\n" \
        "add r7, r7, #16\n" \
        "subs r10, r10, #16\n" \
        "bgt.w 6b\n" \
        "5:\n" \
        "ldrd r7, r10, [sp, #132]\n" \
        "ldrd r5, r6, [sp, #140]\n" \
        "bic r12, r6, #15\n" \
        "subs r8, r6, r12\n" \
        "beq 11f\n" \
        "bics r10, r10, #1\n" \
        "beq 11f\n" \
        "ldrd r1, r2, [sp, #16]\n" \
        "ldr r3, [sp, #24]\n" \
        "ldrd r4, lr, [sp]\n" \
        "mov r0, #144\n" \
        "mla r4, lr, r0, r4\n" \
        "add r1, r1, r12\n" \
        "add r2, r2, r12\n" \
        "add r3, r3, r12\n" \
        "add r7, r7, r12\n" \
        "vctp.8 r8\n" \
        "mov r11, #0\n" \
        "mov r0, r4\n" \
        "b 8b\n" \
        "7:\n" \
        "mov r0, r4\n" \
        "add r1, r1, r5\n" \
        "add r2, r2, r5\n" \
        "add r3, r3, r5\n" \
        "add r7, r7, r6\n" \
        "subs r10, r10, #1\n" \
        "bgt.w 8b\n" \
        "11:\n" \
        "add sp, sp, #32\n" \
        "vpop {d8-d15}\n" \
        "pop {r4-r11, pc}\n" \
        "9:\n" \
        "push {r1, r2, r3, r7, r11}\n" \
        "mov r12, #16\n" \
        "vctp.8 r12\n" \
        "mov r11, #2\n" \
        "sub r0, r0, #144\n" \
        "sub r1, r1, #16\n" \
        "sub r2, r2, #16\n" \
        "sub r3, r3, #16\n" \
        "b 8b\n" \
        "10:\n" \
        "cmp r11, #2\n" \
        "bne 12f\n" \
        "sub r0, r0, #144\n" \
        "sub r1, r4, #16\n" \
        "sub r2, r5, #16\n" \
        "sub r3, r6, #16\n" \
        "mov r7, r8\n" \
        "mov r11, #3\n" \
        "b 8b\n" \
        "12:\n" \
        "pop {r1, r2, r3, r7, r11}\n" \
        "add r7, r7, #16\n" \
        "add r8, r8, #16\n" \
        "mov r12, #0\n" \
        "le lr, 2b\n" \
        "b 3b\n")
#endif

#endif
