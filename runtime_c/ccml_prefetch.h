/* Part of the ccml runtime: memory brought into a near cache before it is read.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_PREFETCH_H
#define CCML_PREFETCH_H

#include "ccml_base.h"

/* The place may lie outside of the array: it is a number, not a pointer of C's. */
static inline void ccml_prefetch(const void *array, ptrdiff_t bytes)
{
#if CCML_GNU
  __builtin_prefetch((const void *)((uintptr_t)array + (uintptr_t)bytes));
#else
  (void)array;
  (void)bytes;
#endif
}

#endif
