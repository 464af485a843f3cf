/* Part of the ccml runtime: contractions of int8 activations by a stream of weights, tile by tile of channels.

   The stream is described in ccml: a bias for each channel of a tile, then for each group of four k a word of weights
   per channel, then (to requantize) multiplier, summand and shift per channel.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_TILE_H
#define CCML_TILE_H

#include "ccml_dot.h"
#include "ccml_widen.h"

#if CCML_ARM_DSP

/* Four weights into r11 (k0, k2) and r10 (k1, k3). */
#define CCML_WEIGHTS \
    "ldr r10, [r0], #4\n" \
    "sxtb16 r11, r10\n" \
    "sxtb16 r10, r10, ror #8\n"

/* The accumulator as a byte: multiplier m, summand a and shift n in registers. */
#define CCML_REQUANTIZE(acc, m, a, n) \
    "smmla " acc ", " acc ", " m ", " a "\n" \
    "asr " acc ", " acc ", " n "\n" \
    "ssat " acc ", #8, " acc "\n"

/* The place from which `unroll` copies of `bytes` each, of which the last ends at `label`, leave
   (groups - 1) % unroll + 1 to run, with the Thumb bit, in r7; groups in r4. */
#define CCML_ENTRY(label, unroll, bytes) \
    "sub r6, r4, #1\n" \
    "and r6, r6, #" #unroll " - 1\n" \
    "add r6, r6, #1\n" \
    "mov r8, #" #bytes "\n" \
    "adr.w r7, " label "\n" \
    "mls r7, r6, r8, r7\n" \
    "orr r7, r7, #1\n"

#else

static inline int8_t ccml_requantize(int32_t acc, const int32_t *constants)
{
    const int32_t high = (int32_t)((int64_t)acc * constants[0] >> 32);
    const int32_t steps = (int32_t)((uint32_t)high + (uint32_t)constants[1]) >> constants[2];
    return (int8_t)(steps < -128 ? -128 : steps > 127 ? 127 : steps);
}

#endif

#endif
