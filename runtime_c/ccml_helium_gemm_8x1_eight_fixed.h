/* Part of the ccml runtime: one pixel of eight vectors by all channels, requantized to bytes by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_8X1_EIGHT_FIXED_H
#define CCML_HELIUM_GEMM_8X1_EIGHT_FIXED_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_HELIUM_8X1_EIGHT_STEP(x) \
    CCML_HELIUM_LOAD("q1", "r5") CCML_HELIUM_DOT("r0", x, "q1") CCML_HELIUM_LOAD("q2", "r5") \
    CCML_HELIUM_DOT("r2", x, "q2") CCML_HELIUM_LOAD("q1", "r5") CCML_HELIUM_DOT("r4", x, "q1") \
    CCML_HELIUM_LOAD("q2", "r5") CCML_HELIUM_DOT("r6", x, "q2") CCML_HELIUM_LOAD("q1", "r5") \
    CCML_HELIUM_DOT("r8", x, "q1") CCML_HELIUM_LOAD("q2", "r5") CCML_HELIUM_DOT("r10", x, "q2") \
    CCML_HELIUM_LOAD("q1", "r5") CCML_HELIUM_DOT("r12", x, "q1") CCML_HELIUM_LOAD("q2", "r5") \
    CCML_HELIUM_DOT("lr", x, "q2")

/* Even registers and lr hold sums, q4 to q7 the first four vectors of x, q0 one of the others; r5 is w, r9 x, r3 y, r11
   the channels left, r1 the zero point. */
#define CCML_BLOCK_HELIUM_GEMM_8X1_EIGHT_FIXED 1
CCML_NAKED ccml_helium_gemm_8x1_eight_fixed(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "vpush {d8-d15}\n"
        "mov r5, r0\n"
        "mov r9, r1\n"
        "mov r11, r3\n"
        "mov r3, r2\n"
        "ldr r1, [sp, #100]\n"
        "ldm r5!, {r0, r2, r4, r6}\n"
        "ldm r5!, {r8, r10, r12, lr}\n"
        "vldrb.u8 q4, [r9]\n"
        "vldrb.u8 q5, [r9, #16]\n"
        "vldrb.u8 q6, [r9, #32]\n"
        "vldrb.u8 q7, [r9, #48]\n"
        "1:\n"
        CCML_HELIUM_8X1_EIGHT_STEP("q4") CCML_HELIUM_8X1_EIGHT_STEP("q5")
        CCML_HELIUM_8X1_EIGHT_STEP("q6") CCML_HELIUM_8X1_EIGHT_STEP("q7")
        "vldrb.u8 q0, [r9, #64]\n" CCML_HELIUM_8X1_EIGHT_STEP("q0")
        "vldrb.u8 q0, [r9, #80]\n" CCML_HELIUM_8X1_EIGHT_STEP("q0")
        "vldrb.u8 q0, [r9, #96]\n" CCML_HELIUM_8X1_EIGHT_STEP("q0")
        "vldrb.u8 q0, [r9, #112]\n" CCML_HELIUM_8X1_EIGHT_STEP("q0")
        "vmov q0[2], q0[0], r0, r8\n"
        "vld20.32 {q2, q3}, [r5]\n"
        "vmov q0[3], q0[1], r4, r12\n"
        "vld21.32 {q2, q3}, [r5]!\n"
        "vmov q1[2], q1[0], r2, r10\n"
        "vctp.16 r11\n"
        "vqrdmlash.s32 q0, q2, r1\n"
        "vmov q1[3], q1[1], r6, lr\n"
        "subs r11, r11, #8\n"
        "vqmovnb.s32 q0, q0\n"
        "vqrdmlash.s32 q1, q3, r1\n"
        "itt gt\n"
        "ldmgt r5!, {r0, r2, r4, r6}\n"
        "ldmgt r5!, {r8, r10, r12, lr}\n"
        "vqmovnt.s32 q0, q1\n"
        "vqmovnb.s16 q0, q0\n"
        "vpst\n"
        "vstrbt.16 q0, [r3], #8\n"
        "bgt.w 1b\n"
        "vpop {d8-d15}\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_HELIUM_8X1_EIGHT_STEP
#endif

#endif
