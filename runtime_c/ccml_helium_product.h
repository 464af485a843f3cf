/* Part of the ccml runtime: rows of one step by the packed columns of a matrix, zero points of both taken off.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_PRODUCT_H
#define CCML_HELIUM_PRODUCT_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_PRODUCT 1
#define CCML_HELIUM_PRODUCT_BIASES "ldm r5, {r0, r2, r4, r6}\n"
#define CCML_HELIUM_PRODUCT_MOVE0 "vmov q1[2], q1[0], r0, r4\n"
#define CCML_HELIUM_PRODUCT_MOVE1 "vmov q1[3], q1[1], r2, r6\n"
#define CCML_HELIUM_PRODUCT_WEIGHTS(q, at, sum) \
    "vldrb.u8 " q ", [r5, #" at "]\n" \
    "vmladav.s8 " sum ", " q ", q1\n"

/* Even registers up to r6 hold sums, r8 what is taken off all of a row; q4 to q7 are four columns, q3 the zero point of
   the right matrix for each k that there is, q2 the factor; r5 is the tile in w, r3 x, r7 y, r10 the first result of the
   tile, r1 and r9 from row to row of y and x, r11 the channels left, r12 the zero point of results. On the stack: x, what
   biases begin with; the arguments from sp + 116 on: rows, row_step, channels, zx, zw, factor, zero_point. While a row
   is multiplied, sums of the one before become bytes. */
CCML_NAKED ccml_helium_product(
    int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t depth CCML_UNUSED,
    int32_t rows CCML_UNUSED, int32_t row_step CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t zx CCML_UNUSED,
    int32_t zw CCML_UNUSED, int32_t factor CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "vpush {d8-d15}\n"
        "sub sp, sp, #16\n"
        "mov r5, r0\n"
        "mov r10, r2\n"
        "ldrd r9, r11, [sp, #120]\n"
        "ldrd r4, r6, [sp, #128]\n"
        "mul r0, r4, r6\n"
        "mul r0, r0, r3\n"
        "strd r1, r0, [sp]\n"
        "mov r1, r11\n"
        "vmov.i32 q3, #0\n"
        "vctp.8 r3\n"
        "vpst\n"
        "vdupt.8 q3, r6\n"
        "ldrd r6, r12, [sp, #136]\n"
        "vdup.32 q2, r6\n"
        "1:\n"
        "ldr r6, [sp, #128]\n"
        "vdup.8 q1, r6\n"
        CCML_HELIUM_PRODUCT_WEIGHTS("q4", "16", "r0")
        CCML_HELIUM_PRODUCT_WEIGHTS("q5", "32", "r2")
        CCML_HELIUM_PRODUCT_WEIGHTS("q6", "48", "r4")
        CCML_HELIUM_PRODUCT_WEIGHTS("q7", "64", "r6")
        "ldrd r3, r8, [sp]\n"
        "mov r7, r10\n"
        "sub r0, r8, r0\n"
        "sub r2, r8, r2\n"
        "sub r4, r8, r4\n"
        "sub r6, r8, r6\n"
        "stm r5, {r0, r2, r4, r6}\n"
        "vldrb.u8 q0, [r3]\n"
        "vctp.32 r11\n"
        "ldr lr, [sp, #116]\n"
        CCML_HELIUM_DOT("r0", "q0", "q4")
        CCML_HELIUM_DOT("r2", "q0", "q5")
        CCML_HELIUM_DOT("r4", "q0", "q6")
        CCML_HELIUM_DOT("r6", "q0", "q7")
        "vmladav.s8 r8, q0, q3\n"
        "add r3, r3, r9\n"
        "subs lr, lr, #1\n"
        "wls lr, lr, 3f\n"
        "2:\n"
        CCML_HELIUM_PRODUCT_MOVE0
        "vldrb.u8 q0, [r3]\n"
        CCML_HELIUM_PRODUCT_MOVE1 CCML_HELIUM_PRODUCT_BIASES
        "vsub.i32 q1, q1, r8\n"
        "vmladav.s8 r8, q0, q3\n"
        "add r3, r3, r9\n"
        CCML_HELIUM_DOT("r0", "q0", "q4")
        "vqrdmlash.s32 q1, q2, r12\n"
        CCML_HELIUM_DOT("r2", "q0", "q5")
        "vqmovnb.s32 q1, q1\n"
        CCML_HELIUM_DOT("r4", "q0", "q6")
        "vqmovnb.s16 q1, q1\n"
        CCML_HELIUM_DOT("r6", "q0", "q7")
        "vpst\n"
        "vstrbt.32 q1, [r7]\n"
        "add r7, r7, r1\n"
        "le lr, 2b\n"
        "3:\n" CCML_HELIUM_PRODUCT_MOVE0 CCML_HELIUM_PRODUCT_MOVE1
        "vsub.i32 q1, q1, r8\n"
        "add r5, r5, #80\n"
        "vqrdmlash.s32 q1, q2, r12\n"
        "add r10, r10, #4\n"
        "vqmovnb.s32 q1, q1\n"
        "subs r11, r11, #4\n"
        "vqmovnb.s16 q1, q1\n"
        "vpst\n"
        "vstrbt.32 q1, [r7]\n"
        "bgt.w 1b\n"
        "add sp, sp, #16\n"
        "vpop {d8-d15}\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_HELIUM_PRODUCT_BIASES
#undef CCML_HELIUM_PRODUCT_MOVE0
#undef CCML_HELIUM_PRODUCT_MOVE1
#undef CCML_HELIUM_PRODUCT_WEIGHTS
#endif

#endif
