/* Part of the ccml runtime: a matrix of bytes in the place of weights, words of four rows.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_PACK_H
#define CCML_HELIUM_PACK_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_HELIUM_PACK_STORE \
    "vsli.32 q2, q3, #8\n" \
    "vsli.32 q0, q2, #16\n" \
    "vand q0, q0, q4\n" \
    "vstrw.32 q0, [r8, q5]\n"

/* r4 to r7 are four rows (the last one again where there are fewer, whose bytes the mask in q4 leaves out), r8 the words
   of four columns, which are at q5, r12 the rows left, r11 the words to the next step, less one. */
#define CCML_BLOCK_HELIUM_PACK 1
CCML_NAKED ccml_helium_pack(
    const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t depth CCML_UNUSED, int32_t columns CCML_UNUSED,
    int32_t row_step CCML_UNUSED, int32_t tile_words CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "vpush {d8-d11}\n"
        "ldrd r10, r9, [sp, #68]\n"
        "lsl r9, r9, #2\n"
        "mov r4, #0\n"
        "vidup.u32 q5, r4, #4\n"
        "vshl.i32 q5, q5, #2\n"
        "mov r12, r2\n"
        "mov r11, #4\n"
        "mvn r4, #0\n"
        "1:\n"
        "vdup.32 q4, r4\n"
        "cmp r12, #4\n"
        "bge 2f\n"
        "rsb r5, r12, #4\n"
        "lsl r5, r5, #3\n"
        "mvn r4, #0\n"
        "lsr r4, r4, r5\n"
        "vdup.32 q4, r4\n"
        "2:\n"
        "mov r4, r0\n"
        "cmp r12, #1\n"
        "ite gt\n"
        "addgt r5, r4, r10\n"
        "movle r5, r4\n"
        "cmp r12, #2\n"
        "ite gt\n"
        "addgt r6, r5, r10\n"
        "movle r6, r5\n"
        "cmp r12, #3\n"
        "ite gt\n"
        "addgt r7, r6, r10\n"
        "movle r7, r6\n"
        "add r0, r7, r10\n"
        "mov r8, r1\n"
        "lsr lr, r3, #2\n"
        "wls lr, lr, 4f\n"
        "3:\n"
        "vldrb.u32 q0, [r4], #4\n"
        "vldrb.u32 q1, [r5], #4\n"
        "vldrb.u32 q2, [r6], #4\n"
        "vsli.32 q0, q1, #8\n"
        "vldrb.u32 q3, [r7], #4\n" CCML_HELIUM_PACK_STORE
        "add r8, r8, r9\n"
        "le lr, 3b\n"
        "4:\n"
        "ands lr, r3, #3\n"
        "beq 5f\n"
        "vctp.32 lr\n"
        "vpstttt\n"
        "vldrbt.u32 q0, [r4]\n"
        "vldrbt.u32 q1, [r5]\n"
        "vldrbt.u32 q2, [r6]\n"
        "vldrbt.u32 q3, [r7]\n"
        "vsli.32 q0, q1, #8\n" CCML_HELIUM_PACK_STORE
        "5:\n"
        "add r1, r1, #4\n"
        "subs r11, r11, #1\n"
        "itt eq\n"
        "moveq r11, #4\n"
        "addeq r1, r1, #48\n"
        "mvn r4, #0\n"
        "subs r12, r12, #4\n"
        "bgt 1b\n"
        "vpop {d8-d11}\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_HELIUM_PACK_STORE
#endif

#endif
