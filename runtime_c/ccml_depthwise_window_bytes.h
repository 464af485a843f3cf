/* Part of the ccml runtime: outputs of a depthwise convolution with any kernel, from staged windows to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_WINDOW_BYTES_H
#define CCML_DEPTHWISE_WINDOW_BYTES_H

#include "ccml_depthwise_window_rounded.h"

#if CCML_ARM_DSP
#define CCML_BLOCK_DEPTHWISE_WINDOW_BYTES 1
CCML_NAKED ccml_depthwise_window_bytes(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t outputs CCML_UNUSED, int32_t pairs CCML_UNUSED, int32_t advance CCML_UNUSED, int32_t step CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(CCML_DEPTHWISE_WINDOW_ROUNDED("", CCML_DEPTHWISE_WINDOW_WORD, "add r2, r2, #4\n"));
}
#endif

#endif
