/* Part of the ccml runtime: each byte of a line several times.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_REPEAT_H
#define CCML_HELIUM_REPEAT_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_REPEAT 1
/* Twice: as both halves of halfwords. Else sixteen bytes are scattered, as far apart as they are repeated, from as many places one byte apart. */
CCML_NAKED ccml_helium_repeat(
    const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED, int32_t times CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r6, lr}\n"
        "cmp r3, #2\n"
        "bne 4f\n"
        "wlstp.16 lr, r2, 5f\n"
        "3:\n"
        "vldrb.u16 q0, [r0], #8\n"
        "vsli.16 q0, q0, #8\n"
        "vstrh.16 q0, [r1], #16\n"
        "letp lr, 3b\n"
        "5:\n"
        "pop {r4-r6, pc}\n"
        "4:\n"
        "mov r4, #0\n"
        "vidup.u8 q1, r4, #1\n"
        "vmul.i8 q1, q1, r3\n"
        "lsl r6, r3, #4\n"
        "sub r6, r6, r3\n"
        "1:\n"
        "vctp.8 r2\n"
        "vpst\n"
        "vldrbt.u8 q0, [r0], #16\n"
        "dls lr, r3\n"
        "2:\n"
        "vpst\n"
        "vstrbt.8 q0, [r1, q1]\n"
        "add r1, r1, #1\n"
        "le lr, 2b\n"
        "add r1, r1, r6\n"
        "subs r2, r2, #16\n"
        "bgt 1b\n"
        "pop {r4-r6, pc}\n");
}
#endif

#endif
