/* Part of the ccml runtime: pixels of one step, four channels at a time, whose weights stay in registers.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X1_H
#define CCML_HELIUM_GEMM_4X1_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_HELIUM_4X1_BIASES "ldm r5, {r0, r2, r4, r6}\n"
#define CCML_HELIUM_4X1_MOVE0 "vmov q1[2], q1[0], r0, r4\n"
#define CCML_HELIUM_4X1_MOVE1 "vmov q1[3], q1[1], r2, r6\n"

/* A pixel is multiplied while the sums of the one before become bytes, which `store` writes. */
#define CCML_HELIUM_4X1_PIXEL(result0, result1, result2, result3, store) \
    CCML_HELIUM_4X1_MOVE0 \
    "vldrb.u8 q0, [r3]\n" \
    CCML_HELIUM_4X1_MOVE1 CCML_HELIUM_4X1_BIASES \
    result0 \
    "add r3, r3, r9\n" \
    CCML_HELIUM_DOT("r0", "q0", "q4") \
    result1 \
    CCML_HELIUM_DOT("r2", "q0", "q5") \
    result2 \
    CCML_HELIUM_DOT("r4", "q0", "q6") \
    result3 \
    store \
    CCML_HELIUM_DOT("r6", "q0", "q7") \
    "add r7, r7, r8\n"
#define CCML_HELIUM_4X1_STORE "vstrb.32 q1, [r7]\n"
#define CCML_HELIUM_4X1_STORE_SOME "vpst\nvstrbt.32 q1, [r7]\n"

/* void f(const int32_t *w, const int8_t *x, int8_t *y, int32_t pixels, int32_t pixel_step, int32_t channels,
   int32_t apart, int32_t zero_point, ...).

   Even registers up to r6 hold sums; q4 to q7 are the weights of four channels and q2 their factors, q3 the least result;
   r5 is the tile in w, r3 x, r7 y, r10 the first result of the tile, r8 and r9 from pixel to pixel of y and x, r1 pixels
   but for the first, r11 the channels left, r12 the zero point. On the stack: x; the arguments from sp + 104 on. While
   sums of a pixel are multiplied, those of the one before become bytes: `result0` to `result3`. */
#define CCML_HELIUM_GEMM_4X1(setup, result0, result1, result2, result3) \
    __asm__ volatile( \
        ".syntax unified\n" \
        "push {r4-r11, lr}\n" \
        "vpush {d8-d15}\n" \
        "sub sp, sp, #4\n" \
        setup \
        "str r1, [sp]\n" \
        "mov r5, r0\n" \
        "mov r10, r2\n" \
        "sub r1, r3, #1\n" \
        "ldrd r9, r11, [sp, #104]\n" \
        "ldrd r8, r12, [sp, #112]\n" \
        "1:\n" \
        "ldr r3, [sp]\n" \
        "mov r7, r10\n" \
        "vldrb.u8 q4, [r5, #16]\n" \
        "vctp.32 r11\n" CCML_HELIUM_4X1_BIASES \
        "vldrb.u8 q0, [r3]\n" \
        CCML_HELIUM_DOT("r0", "q0", "q4") \
        "vldrb.u8 q5, [r5, #32]\n" \
        CCML_HELIUM_DOT("r2", "q0", "q5") \
        "vldrb.u8 q6, [r5, #48]\n" \
        CCML_HELIUM_DOT("r4", "q0", "q6") \
        "vldrb.u8 q7, [r5, #64]\n" \
        CCML_HELIUM_DOT("r6", "q0", "q7") \
        "vldrw.u32 q2, [r5, #80]\n" \
        "add r3, r3, r9\n" \
        "cmp r11, #4\n" \
        "bge 4f\n" \
        "wls lr, r1, 3f\n" \
        "2:\n" CCML_HELIUM_4X1_PIXEL(result0, result1, result2, result3, CCML_HELIUM_4X1_STORE_SOME) \
        "le lr, 2b\n" \
        "b 3f\n" \
        "4:\n" \
        "wls lr, r1, 3f\n" \
        "5:\n" CCML_HELIUM_4X1_PIXEL(result0, result1, result2, result3, CCML_HELIUM_4X1_STORE) \
        "le lr, 5b\n" \
        "3:\n" CCML_HELIUM_4X1_MOVE0 CCML_HELIUM_4X1_MOVE1 \
        result0 \
        "add r5, r5, #96\n" \
        result1 \
        "add r10, r10, #4\n" \
        result2 \
        "subs r11, r11, #4\n" \
        result3 \
        "vpst\n" \
        "vstrbt.32 q1, [r7]\n" \
        "bgt.w 1b\n" \
        "add sp, sp, #4\n" \
        "vpop {d8-d15}\n" \
        "pop {r4-r11, pc}\n")
#endif

#endif
