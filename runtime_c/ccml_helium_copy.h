/* Part of the ccml runtime: runs of bytes to another place.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_COPY_H
#define CCML_HELIUM_COPY_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_COPY 1
CCML_NAKED ccml_helium_copy(
    const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t runs CCML_UNUSED, int32_t size CCML_UNUSED,
    int32_t x_step CCML_UNUSED, int32_t y_step CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r6, lr}\n"
        "ldrd r4, r5, [sp, #16]\n"
        "1:\n"
        "mov r6, r0\n"
        "mov r12, r1\n"
        "wlstp.8 lr, r3, 3f\n"
        "2:\n"
        "vldrb.u8 q0, [r6], #16\n"
        "vstrb.8 q0, [r12], #16\n"
        "letp lr, 2b\n"
        "3:\n"
        "add r0, r0, r4\n"
        "add r1, r1, r5\n"
        "subs r2, r2, #1\n"
        "bne 1b\n"
        "pop {r4-r6, pc}\n");
}
#endif

#endif
