/* Part of the ccml runtime: the same byte throughout.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_FILL_H
#define CCML_HELIUM_FILL_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_FILL 1
CCML_NAKED ccml_helium_fill(int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED, int32_t value CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, lr}\n"
        "vdup.8 q0, r2\n"
        "wlstp.8 lr, r1, 2f\n"
        "1:\n"
        "vstrb.8 q0, [r0], #16\n"
        "letp lr, 1b\n"
        "2:\n"
        "pop {r4, pc}\n");
}
#endif

#endif
