/* Part of the ccml runtime: tiles hold nothing that a system would have to keep.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_TILES_RELEASE_H
#define CCML_TILES_RELEASE_H

#include "ccml_tiles.h"

#if CCML_TILES
#define CCML_BLOCK_TILES_RELEASE 1

CCML_NAKED ccml_tiles_release(void)
{
    __asm__ volatile(
        "tilerelease\n"
        "ret\n");
}
#endif

#endif
