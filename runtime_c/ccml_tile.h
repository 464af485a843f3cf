/* Part of the ccml runtime: contractions of int8 activations by a stream of weights, tile by tile of channels.

   The stream is described in ccml: a bias for each channel of a tile, then for each group of four k a word of weights
   per channel, then (to requantize) the float32 scale of each channel.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_TILE_H
#define CCML_TILE_H

#include "ccml_bits.h"
#include "ccml_dot.h"
#include "ccml_widen.h"

#if CCML_ARM_DSP

/* Four weights into r11 (k0, k2) and r10 (k1, k3). */
#define CCML_WEIGHTS \
    "ldr r10, [r0], #4\n" \
    "sxtb16 r11, r10\n" \
    "sxtb16 r10, r10, ror #8\n"

#define CCML_REPEAT(times, text) ".rept " times "\n" text ".endr\n"

/* 1.5 * 2^23 in r7 and r8 for six accumulators from sp on, and what turns their bits into a result at sp + 24; the zero
   point in r6. */
#define CCML_ROUNDERS \
    "movw r7, #0\n" \
    "movt r7, #0x4b40\n" \
    "mov r8, r7\n" \
    "sub r6, r7, r6\n" \
    "strd r7, r8, [sp]\n" \
    "strd r7, r8, [sp, #8]\n" \
    "strd r7, r8, [sp, #16]\n" \
    "str r6, [sp, #24]\n"

/* sum += float(acc) * scale, rounded twice as in C. */
#define CCML_SCALE(sum, acc, scale) \
    "vcvt.f32.s32 " acc ", " acc "\n" \
    "vmla.f32 " sum ", " acc ", " scale "\n"

/* The bits of a rounded sum as a byte at *y++; what stands at sp + 24 in `base`. */
#define CCML_BYTE(bits, base, y) \
    "sub " bits ", " bits ", " base "\n" \
    "ssat " bits ", #8, " bits "\n" \
    "strb " bits ", [" y "], #1\n"

/* The place from which `unroll` copies from `begin` to `end` leave (groups - 1) % unroll + 1 to run, with the Thumb bit,
   in r7; groups in r4. */
#define CCML_ENTRY(begin, end, unroll) \
    "sub r6, r4, #1\n" \
    "and r6, r6, #" #unroll " - 1\n" \
    "add r6, r6, #1\n" \
    "mov r8, #(" end " - " begin ") / " #unroll "\n" \
    "adr.w r7, " end "\n" \
    "mls r7, r6, r8, r7\n" \
    "orr r7, r7, #1\n"
#endif

#endif
