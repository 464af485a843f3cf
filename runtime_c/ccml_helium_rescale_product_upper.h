/* Part of the ccml runtime: products of the bytes of two lines, in steps of the result, by upper words.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_RESCALE_PRODUCT_UPPER_H
#define CCML_HELIUM_RESCALE_PRODUCT_UPPER_H

#include "ccml_helium_product_lines.h"

#if CCML_HELIUM
/* VQRDMLASH doubles the product, rounds its upper word and adds the zero point: the multiplier is four times what it
   takes, the bias twice the zero point and one that rounds. */
#define CCML_HELIUM_UPPER_SETUP \
    "ldrd r8, r12, [sp, #72]\n" \
    "asr r6, r6, #2\n" \
    "asr r7, r7, #1\n" \
    "vdup.16 q4, r8\n"
#define CCML_HELIUM_UPPER_NARROWED \
    "vqrdmlash.s32 q2, q3, r7\n" \
    "vqrdmlash.s32 q1, q3, r7\n" \
    "vqmovnb.s32 q0, q2\n" \
    "vqmovnt.s32 q0, q1\n"

#define CCML_BLOCK_HELIUM_RESCALE_PRODUCT_UPPER 1
CCML_NAKED ccml_helium_rescale_product_upper(
    const int8_t *x1 CCML_UNUSED, const int8_t *x2 CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED,
    int32_t z1 CCML_UNUSED, int32_t z2 CCML_UNUSED, int32_t m CCML_UNUSED, int32_t bias CCML_UNUSED,
    int32_t lo CCML_UNUSED, int32_t hi CCML_UNUSED)
{
    CCML_HELIUM_PRODUCT_LINES(CCML_HELIUM_UPPER_SETUP, CCML_HELIUM_UPPER_NARROWED);
}
#undef CCML_HELIUM_UPPER_SETUP
#undef CCML_HELIUM_UPPER_NARROWED
#endif

#endif
