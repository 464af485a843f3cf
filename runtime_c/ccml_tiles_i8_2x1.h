/* Part of the ccml runtime: two tiles of rows of signed bytes by sixteen columns.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_TILES_I8_2X1_H
#define CCML_TILES_I8_2X1_H

#include "ccml_tiles.h"

#if CCML_TILES
#define CCML_BLOCK_TILES_I8_2X1 1
CCML_TILES_FUNCTION(ccml_tiles_i8_2x1, int8_t)
{
    CCML_TILES_PRODUCT1("tdpbssd");
}
#endif

#endif
