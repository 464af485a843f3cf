/* Part of the ccml runtime: depthwise convolution with large kernels, two pixels of a row at a time, by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_WINDOWS_FIXED_H
#define CCML_HELIUM_DEPTHWISE_WINDOWS_FIXED_H

#include "ccml_helium_depthwise_windows.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_DEPTHWISE_WINDOWS_FIXED 1
CCML_NAKED ccml_helium_depthwise_windows_fixed(
    const int32_t *w CCML_UNUSED, const int32_t *offsets CCML_UNUSED, const int8_t *x CCML_UNUSED,
    int8_t *y CCML_UNUSED, int32_t steps CCML_UNUSED, int32_t reach CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t apart CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_HELIUM_WINDOWS(
        "ldr r3, [sp, #160]\n"
        CCML_HELIUM_REQUANTIZE_FIXED(
            CCML_HELIUM_WINDOWS_MOVES0, CCML_HELIUM_WINDOWS_MOVES1, CCML_HELIUM_WINDOWS_MOVES2, "q2", "q2",
            "ldrd r7, r9, [sp, #8]\n", "ldr r11, [sp, #16]\n", "", "r3", ""));
}
#endif

#endif
