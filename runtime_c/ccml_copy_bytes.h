/* Part of the ccml runtime: a few bytes, four at a time wherever they begin.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_COPY_BYTES_H
#define CCML_COPY_BYTES_H

#include "ccml_base.h"

#if CCML_GNU && !defined(__ARM_ARCH_6M__) /* where words at any address are calls of memcpy */
#define CCML_BLOCK_COPY_BYTES 1
static inline void ccml_copy_bytes(const int8_t *x, int8_t *y, int32_t count)
{
    int32_t i = 0;
    for (; i + 4 <= count; i += 4) {
        uint32_t word;
        __builtin_memcpy(&word, &x[i], 4);
        __asm__("" : "+r"(word)); /* else the loop is a call of memcpy at some levels of optimization */
        __builtin_memcpy(&y[i], &word, 4);
    }
    for (; i < count; ++i) {
        y[i] = x[i];
    }
}
#endif

#endif
