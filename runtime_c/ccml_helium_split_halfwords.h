/* Part of the ccml runtime: halfwords as lines of their upper bytes and of their lower bytes less 128.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_SPLIT_HALFWORDS_H
#define CCML_HELIUM_SPLIT_HALFWORDS_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_SPLIT_HALFWORDS 1
CCML_NAKED ccml_helium_split_halfwords(
    const int16_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t vectors CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, lr}\n"
        "add r3, r1, r2, lsl #4\n"
        "vmov.i8 q2, #128\n"
        "wls lr, r2, 2f\n"
        "1:\n"
        "vld20.8 {q0, q1}, [r0]\n"
        "vld21.8 {q0, q1}, [r0]!\n"
        "vstrb.8 q1, [r1], #16\n"
        "veor q0, q0, q2\n"
        "vstrb.8 q0, [r3], #16\n"
        "le lr, 1b\n"
        "2:\n"
        "pop {r4, pc}\n");
}
#endif

#endif
