/* Part of the ccml runtime: products of the bytes of two lines, in steps of the result.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_RESCALE_PRODUCT_H
#define CCML_HELIUM_RESCALE_PRODUCT_H

#include "ccml_helium_product_lines.h"

#if CCML_HELIUM
#define CCML_HELIUM_PRODUCT_SETUP \
    "ldrd r8, r12, [sp, #72]\n" \
    "rsb r8, r8, #0\n" \
    "vdup.16 q4, r12\n" \
    "ldr r12, [sp, #80]\n"
#define CCML_HELIUM_PRODUCT_NARROWED \
    "vmlas.s32 q2, q3, r7\n" \
    "vshl.s32 q2, r8\n" \
    "vmlas.s32 q1, q3, r7\n" \
    "vqmovnb.s32 q0, q2\n" \
    "vshl.s32 q1, r8\n" \
    "vqmovnt.s32 q0, q1\n"

#define CCML_BLOCK_HELIUM_RESCALE_PRODUCT 1
CCML_NAKED ccml_helium_rescale_product(
    const int8_t *x1 CCML_UNUSED, const int8_t *x2 CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED,
    int32_t z1 CCML_UNUSED, int32_t z2 CCML_UNUSED, int32_t m CCML_UNUSED, int32_t bias CCML_UNUSED,
    int32_t shift CCML_UNUSED, int32_t lo CCML_UNUSED, int32_t hi CCML_UNUSED)
{
    CCML_HELIUM_PRODUCT_LINES(CCML_HELIUM_PRODUCT_SETUP, CCML_HELIUM_PRODUCT_NARROWED);
}
#undef CCML_HELIUM_PRODUCT_SETUP
#undef CCML_HELIUM_PRODUCT_NARROWED
#endif

#endif
