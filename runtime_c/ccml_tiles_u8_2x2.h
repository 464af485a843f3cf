/* Part of the ccml runtime: two tiles of rows of unsigned bytes by two times sixteen columns.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_TILES_U8_2X2_H
#define CCML_TILES_U8_2X2_H

#include "ccml_tiles.h"

#if CCML_TILES
#define CCML_BLOCK_TILES_U8_2X2 1
CCML_NAKED ccml_tiles_u8_2x2(
    const uint8_t *x0 CCML_UNUSED, const uint8_t *x1 CCML_UNUSED, const int8_t *w CCML_UNUSED, const int32_t *bias CCML_UNUSED,
    int32_t *sums CCML_UNUSED, int32_t rows CCML_UNUSED, int32_t row_step CCML_UNUSED, int32_t steps CCML_UNUSED,
    int32_t width CCML_UNUSED, int32_t last CCML_UNUSED, int32_t outer CCML_UNUSED, int32_t outer_step CCML_UNUSED,
    int32_t taps CCML_UNUSED, int32_t tap_step CCML_UNUSED)
{
    CCML_TILES_PRODUCT2("tdpbusd");
}
#endif

#endif
