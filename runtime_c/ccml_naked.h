/* Part of the ccml runtime: functions that are assembly.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_NAKED_H
#define CCML_NAKED_H

#include "ccml_base.h"

/* A function that is nothing but its assembly; its parameters are where the calling convention has them. */
#if !defined(CCML_BLOCK_CODE)
#define CCML_BLOCK_CODE
#endif
#define CCML_NAKED static __attribute__((naked, noinline, unused)) CCML_BLOCK_CODE void
#define CCML_UNUSED __attribute__((unused))

#endif
