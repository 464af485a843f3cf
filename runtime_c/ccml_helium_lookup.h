/* Part of the ccml runtime: bytes as a table of all values has them.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_LOOKUP_H
#define CCML_HELIUM_LOOKUP_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_LOOKUP 1
CCML_NAKED ccml_helium_lookup(
    const int8_t *x CCML_UNUSED, const int8_t *table CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, lr}\n"
        "mov r4, #128\n"
        "vdup.8 q2, r4\n"
        "wlstp.8 lr, r3, 2f\n"
        "1:\n"
        "vldrb.u8 q0, [r0], #16\n"
        "veor q0, q0, q2\n"
        "vldrb.u8 q1, [r1, q0]\n"
        "vstrb.8 q1, [r2], #16\n"
        "letp lr, 1b\n"
        "2:\n"
        "pop {r4, pc}\n");
}
#endif

#endif
