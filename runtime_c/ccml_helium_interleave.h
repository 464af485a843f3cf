/* Part of the ccml runtime: the bytes of four rows as words.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_INTERLEAVE_H
#define CCML_HELIUM_INTERLEAVE_H

#include "ccml_helium.h"

#if CCML_HELIUM
/* A row, or where the next bit of r3 is set, sixteen bytes of the fill; and how far to go on in it. */
#define CCML_HELIUM_SOURCE(row, step) \
    "lsrs r3, r3, #1\n" \
    "itte cs\n" \
    "movcs " row ", r0\n" \
    "movcs " step ", #0\n" \
    "movcc " step ", #16\n"

#define CCML_HELIUM_STORE_FOUR \
    "vst40.8 {q0, q1, q2, q3}, [r1]\n" \
    "vst41.8 {q0, q1, q2, q3}, [r1]\n" \
    "vst42.8 {q0, q1, q2, q3}, [r1]\n" \
    "vst43.8 {q0, q1, q2, q3}, [r1]!\n"

#define CCML_BLOCK_HELIUM_INTERLEAVE 1
CCML_NAKED ccml_helium_interleave(
    const int8_t *x0 CCML_UNUSED, const int8_t *x1 CCML_UNUSED, const int8_t *x2 CCML_UNUSED,
    const int8_t *x3 CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED, int32_t outside CCML_UNUSED,
    int32_t fill CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #20\n"
        "mov r4, r0\n"
        "mov r5, r1\n"
        "mov r6, r2\n"
        "mov r7, r3\n"
        "ldrd r1, r2, [sp, #56]\n"
        "ldrd r3, r8, [sp, #64]\n"
        "lsr r12, r2, #4\n"
        "cbnz r3, 2f\n"
        "wls lr, r12, 4f\n"
        "1:\n"
        "vldrb.u8 q0, [r4], #16\n"
        "vldrb.u8 q1, [r5], #16\n"
        "vldrb.u8 q2, [r6], #16\n"
        "vldrb.u8 q3, [r7], #16\n" CCML_HELIUM_STORE_FOUR
        "le lr, 1b\n"
        "b 4f\n"
        "2:\n"
        "mov r0, sp\n"
        "vdup.8 q0, r8\n"
        "vstrb.8 q0, [r0]\n"
        CCML_HELIUM_SOURCE("r4", "r8")
        CCML_HELIUM_SOURCE("r5", "r9")
        CCML_HELIUM_SOURCE("r6", "r10")
        CCML_HELIUM_SOURCE("r7", "r11")
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
#endif

#endif
