/* Part of the ccml runtime: the bytes of all rows added up for each channel.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_SUM_H
#define CCML_HELIUM_SUM_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_SUM 1
CCML_NAKED ccml_helium_sum(
    const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t rows CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t start CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r6, lr}\n"
        "ldr r4, [sp, #16]\n"
        "mov r5, r3\n"
        "1:\n"
        "mov r6, r0\n"
        "vdup.32 q0, r4\n"
        "vctp.32 r5\n"
        "dls lr, r2\n"
        "2:\n"
        "vpst\n"
        "vldrbt.s32 q1, [r6]\n"
        "vadd.i32 q0, q0, q1\n"
        "add r6, r6, r3\n"
        "le lr, 2b\n"
        "vstrw.32 q0, [r1], #16\n"
        "add r0, r0, #4\n"
        "subs r5, r5, #4\n"
        "bgt 1b\n"
        "pop {r4-r6, pc}\n");
}
#endif

#endif
