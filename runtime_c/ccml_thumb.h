/* Part of the ccml runtime: which hand-written routines for Arm cores without packed arithmetic a compiler can take.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_THUMB_H
#define CCML_THUMB_H

#include "ccml_widen.h"

/* Armv6-M has 16-bit instructions on r0 to r7; Armv7-M the long multiplications as well. All else takes C twins. */
#if CCML_GNU && defined(__ARM_ARCH_6M__)
#define CCML_ARM_V6M 1
#else
#define CCML_ARM_V6M 0
#endif
#if CCML_GNU && defined(__ARM_ARCH_7M__)
#define CCML_ARM_V7M 1
#else
#define CCML_ARM_V7M 0
#endif

#define CCML_REPEAT_TEXT(times, text) ".rept " times "\n" text ".endr\n"

#endif
