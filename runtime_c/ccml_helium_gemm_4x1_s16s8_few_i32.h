/* Part of the ccml runtime: one pixel of two to eight vectors of halfwords, as lines of their upper and lower bytes, by
   all channels, as sums.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X1_S16S8_FEW_I32_H
#define CCML_HELIUM_GEMM_4X1_S16S8_FEW_I32_H

#include "ccml_helium.h"

#if CCML_HELIUM

/* The products of a vector of each line for four channels, but for the load of the first weights, which are in q2.
   `upper_load` and `lower_load` come before the vectors are read. */
#define CCML_HELIUM_4X1_LINES(first, upper_load, upper, lower_load, lower) \
    upper_load first "r0, " upper ", q2\n" \
    lower_load CCML_HELIUM_DOT("r8", lower, "q2") CCML_HELIUM_LOAD("q3", "r5") \
    first "r2, " upper ", q3\n" \
    CCML_HELIUM_DOT("r10", lower, "q3") CCML_HELIUM_LOAD("q2", "r5") \
    first "r4, " upper ", q2\n" \
    CCML_HELIUM_DOT("r12", lower, "q2") CCML_HELIUM_LOAD("q3", "r5") \
    first "r6, " upper ", q3\n"

/* Vectors between the first and the last, `at` bytes before the ends of the lines; then weights of the next. */
#define CCML_HELIUM_4X1_BETWEEN(at) \
    CCML_HELIUM_4X1_LINES( \
        "vmlava.s8 ", "vldrb.u8 q0, [r1, #-" at "]\n", "q0", "vldrb.u8 q1, [r3, #-" at "]\n", "q1") \
    CCML_HELIUM_LOAD("q2", "r5") CCML_HELIUM_DOT("lr", "q1", "q3")

/* The first vectors of both lines are in q4 and q5, the last in q6 and q7; r1 and r3 are the ends of the lines, r5 is w,
   r9 y, r11 the channels left, r7 where the vectors between begin. Sums of the lower line begin with the biases. */
#define CCML_BLOCK_HELIUM_GEMM_4X1_S16S8_FEW_I32 1
CCML_NAKED ccml_helium_gemm_4x1_s16s8_few_i32(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t vectors CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        ".p2align 2\n"
        "push {r4-r11, lr}\n"
        "vpush {d8-d15}\n"
        "mov r5, r0\n"
        "mov r9, r2\n"
        "ldr r11, [sp, #100]\n"
        "lsl r4, r3, #4\n"
        "sub r6, r3, #2\n"
        "mov r8, #(3f - 2f) / 6\n"
        "adr.w r7, 3f\n"
        "mls r7, r6, r8, r7\n"
        "orr r7, r7, #1\n"
        "vldrb.u8 q4, [r1]\n"
        "add r1, r1, r4\n"
        "vldrb.u8 q5, [r1]\n"
        "add r3, r1, r4\n"
        "vldrb.u8 q6, [r1, #-16]\n"
        "vldrb.u8 q7, [r3, #-16]\n"
        "1:\n"
        "ldm r5!, {r8, r10, r12, lr}\n"
        CCML_HELIUM_LOAD("q2", "r5")
        CCML_HELIUM_4X1_LINES("vmlav.s8 ", "", "q4", "", "q5") CCML_HELIUM_LOAD("q2", "r5")
        CCML_HELIUM_DOT("lr", "q5", "q3")
        "bx r7\n"
        ".p2align 2\n"
        "2:\n"
        CCML_HELIUM_4X1_BETWEEN("112") CCML_HELIUM_4X1_BETWEEN("96") CCML_HELIUM_4X1_BETWEEN("80")
        CCML_HELIUM_4X1_BETWEEN("64") CCML_HELIUM_4X1_BETWEEN("48") CCML_HELIUM_4X1_BETWEEN("32")
        "3:\n"
        CCML_HELIUM_4X1_LINES("vmlava.s8 ", "", "q6", "", "q7")
        CCML_HELIUM_DOT("lr", "q7", "q3")
        "add r8, r8, r0, lsl #8\n"
        "add r10, r10, r2, lsl #8\n"
        "add r12, r12, r4, lsl #8\n"
        "add lr, lr, r6, lsl #8\n"
        "subs r11, r11, #4\n"
        "stm r9!, {r8, r10, r12, lr}\n"
        "bgt.w 1b\n"
        "vpop {d8-d15}\n"
        "pop {r4-r11, pc}\n");
}
#undef CCML_HELIUM_4X1_LINES
#undef CCML_HELIUM_4X1_BETWEEN
#endif

#endif
