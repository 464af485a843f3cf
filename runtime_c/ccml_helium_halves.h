/* Part of the ccml runtime: requantization of sums of 16 bits.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_HALVES_H
#define CCML_HELIUM_HALVES_H

#include "ccml_helium.h"

#if CCML_HELIUM
/* Twice the halfwords of q0 times the factors of q3, the upper words rounded, plus `zero`: bytes in the halfwords of q1. */
#define CCML_HELIUM_HALVES(zero) \
    "vmovlb.s16 q1, q0\n" \
    "vmovlt.s16 q2, q0\n" \
    "vqrdmlash.s32 q1, q3, " zero "\n" \
    "vqrdmlash.s32 q2, q3, " zero "\n" \
    "vqmovnb.s32 q1, q1\n" \
    "vqmovnt.s32 q1, q2\n" \
    "vqmovnb.s16 q1, q1\n"
#endif

#endif
