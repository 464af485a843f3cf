/* Part of the ccml runtime: the bytes of four rows as words.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_INTERLEAVE_H
#define CCML_HELIUM_INTERLEAVE_H

#include "ccml_helium.h"

#if CCML_HELIUM
/* A row (its number is at `at`) or, for -1, sixteen bytes of the fill; and how far to go on in it. */
#define CCML_HELIUM_SOURCE(at, row, step) \
    "ldr r12, [sp, #" at "]\n" \
    "cmp r12, #0\n" \
    "itete ge\n" \
    "mlage " row ", r12, r3, r0\n" \
    "movlt " row ", sp\n" \
    "movge " step ", #16\n" \
    "movlt " step ", #0\n"

#define CCML_HELIUM_STORE_FOUR \
    "vst40.8 {q0, q1, q2, q3}, [r1]\n" \
    "vst41.8 {q0, q1, q2, q3}, [r1]\n" \
    "vst42.8 {q0, q1, q2, q3}, [r1]\n" \
    "vst43.8 {q0, q1, q2, q3}, [r1]!\n"

CCML_NAKED ccml_helium_interleave(
    const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED, int32_t row_step CCML_UNUSED,
    int32_t s0 CCML_UNUSED, int32_t s1 CCML_UNUSED, int32_t s2 CCML_UNUSED, int32_t s3 CCML_UNUSED,
    int32_t fill CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #20\n"
        "ldr r4, [sp, #72]\n"
        "vdup.8 q0, r4\n"
        "mov r4, sp\n"
        "vstrb.8 q0, [r4]\n"
        CCML_HELIUM_SOURCE("56", "r4", "r8")
        CCML_HELIUM_SOURCE("60", "r5", "r9")
        CCML_HELIUM_SOURCE("64", "r6", "r10")
        CCML_HELIUM_SOURCE("68", "r7", "r11")
        "and r0, r8, r9\n"
        "and r3, r10, r11\n"
        "and r0, r0, r3\n"
        "lsr r12, r2, #4\n"
        "cmp r0, #0\n"
        "beq 2f\n"
        "wls lr, r12, 4f\n"
        "1:\n"
        "vldrb.u8 q0, [r4], #16\n"
        "vldrb.u8 q1, [r5], #16\n"
        "vldrb.u8 q2, [r6], #16\n"
        "vldrb.u8 q3, [r7], #16\n" CCML_HELIUM_STORE_FOUR
        "le lr, 1b\n"
        "b 4f\n"
        "2:\n"
        "wls lr, r12, 4f\n"
        "3:\n"
        "vldrb.u8 q0, [r4]\n"
        "vldrb.u8 q1, [r5]\n"
        "vldrb.u8 q2, [r6]\n"
        "vldrb.u8 q3, [r7]\n"
        "add r4, r4, r8\n"
        "add r5, r5, r9\n"
        "add r6, r6, r10\n"
        "add r7, r7, r11\n" CCML_HELIUM_STORE_FOUR
        "le lr, 3b\n"
        "4:\n"
        "ands r2, r2, #15\n"
        "beq 5f\n"
        "vctp.8 r2\n"
        "vpstttt\n"
        "vldrbt.u8 q0, [r4]\n"
        "vldrbt.u8 q1, [r5]\n"
        "vldrbt.u8 q2, [r6]\n"
        "vldrbt.u8 q3, [r7]\n" CCML_HELIUM_STORE_FOUR
        "5:\n"
        "add sp, sp, #20\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_HELIUM_SOURCE
#undef CCML_HELIUM_STORE_FOUR
#else
static inline void ccml_helium_interleave(
    const int8_t *x, int8_t *y, int32_t size, int32_t row_step, int32_t s0, int32_t s1, int32_t s2, int32_t s3,
    int32_t fill)
{
    const int32_t sources[4] = {s0, s1, s2, s3};
    for (int32_t i = 0; i < size; ++i) {
        for (int32_t n = 0; n < 4; ++n) {
            y[4 * i + n] = sources[n] < 0 ? (int8_t)fill : x[sources[n] * row_step + i];
        }
    }
}
#endif

#endif
