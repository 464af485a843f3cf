/* Part of the ccml runtime: what the block instructions for Armv8.1-M with Helium share.

   The stream of weights is described in ccml: for each tile of channels a bias per channel, for each sixteen k as many
   bytes per channel, then (to requantize) the float32 scale of each channel.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_H
#define CCML_HELIUM_H

#include "ccml_bits.h"
#include "ccml_widen.h"

#if CCML_GNU && defined(__ARM_FEATURE_MVE)
#if __ARM_FEATURE_MVE == 3
#define CCML_HELIUM 1
#endif
#endif
#if !defined(CCML_HELIUM)
#define CCML_HELIUM 0
#endif

#if CCML_HELIUM

/* Sixteen products for one channel: weights into q2 or q3. */
#define CCML_HELIUM_LOAD(q, from) "vldrb.u8 " q ", [" from "], #16\n"
#define CCML_HELIUM_DOT(acc, x, w) "vmladava.s8 " acc ", " x ", " w "\n"

/* The place from which `unroll` (a power of two) copies of `bytes` each, of which the last ends at `label`, leave
   (steps - 1) % unroll + 1 to run, with the Thumb bit, in r9, and how often the copies are entered or left in r6; steps
   in r4. */
#define CCML_HELIUM_ENTRY(begin, end, unroll, shift) \
    "sub r6, r4, #1\n" \
    "and r7, r6, #" #unroll " - 1\n" \
    "add r7, r7, #1\n" \
    "mov r8, #(" end " - " begin ") / " #unroll "\n" \
    "adr.w r9, " end "\n" \
    "mls r9, r7, r8, r9\n" \
    "orr r9, r9, #1\n" \
    "lsr r6, r6, #" #shift "\n" \
    "add r6, r6, #1\n"

/* Sums, of which `moves0` makes q0, `moves1` and `moves2` q1, times the scales, rounded to the nearest even, the zero
   point (halfwords in `zero`) added: bytes of q0 in the even and those of q1 in the odd halfwords of q0, not less than
   those of `least`. What overflows 32 or 16 bits ends as the nearest byte. Moves and arithmetic are of different units;
   `ahead0` to `ahead2`, where results wait for each other, can load for what comes next. */
#define CCML_HELIUM_REQUANTIZE(moves0, moves1, moves2, scale0, scale1, ahead0, ahead1, ahead2, zero, least) \
    moves0 \
    "vcvt.f32.s32 q0, q0\n" \
    moves1 \
    "vmul.f32 q0, q0, " scale0 "\n" \
    moves2 \
    "vcvtn.s32.f32 q0, q0\n" \
    "vcvt.f32.s32 q1, q1\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmul.f32 q1, q1, " scale1 "\n" \
    "vcvtn.s32.f32 q1, q1\n" \
    "vqmovnt.s32 q0, q1\n" ahead0 CCML_HELIUM_NARROW(ahead1, ahead2, zero, least)

/* The last part: rounded products as bytes. */
#define CCML_HELIUM_NARROW(ahead1, ahead2, zero, least) \
    "vqadd.s16 q0, q0, " zero "\n" \
    ahead1 \
    "vqmovnb.s16 q0, q0\n" \
    ahead2 \
    "vmax.s8 q0, q0, " least "\n"

/* The same by factors in place of scales: the upper words of sums times twice the factors, rounded, and the zero point
   (the core register `zero`) by one instruction; the least byte is -128. */
#define CCML_HELIUM_REQUANTIZE_FIXED(moves0, moves1, moves2, factor0, factor1, ahead0, ahead1, ahead2, zero, least) \
    moves0 \
    moves1 \
    "vqrdmlash.s32 q0, " factor0 ", " zero "\n" \
    moves2 \
    "vqmovnb.s32 q0, q0\n" \
    "vqrdmlash.s32 q1, " factor1 ", " zero "\n" \
    "vqmovnt.s32 q0, q1\n" ahead0 CCML_HELIUM_NARROW_FIXED(ahead1, ahead2, zero, least)

#define CCML_HELIUM_NARROW_FIXED(ahead1, ahead2, zero, least) \
    ahead1 \
    "vqmovnb.s16 q0, q0\n" \
    ahead2

#define CCML_HELIUM_REPEAT(times, text) ".rept " times "\n" text ".endr\n"
#endif

#endif
