/* Part of the ccml runtime: normalization of two rows of bytes, with a factor and a bias for each column.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_NORMALIZE_ROWS_H
#define CCML_HELIUM_NORMALIZE_ROWS_H

#include "ccml_helium.h"

#if CCML_HELIUM
/* Eight columns, those of the first row in q1 and those of the second in q0 in the end; `load(q, from)` and
   `store(q, to)` take and leave their bytes. The factors and biases of both are in q3 and q4 in turn. Loads and arithmetic
   take turns where they can. */
#define CCML_HELIUM_NORMALIZE_COLUMNS(load, store) \
    load("q0", "r0") \
    "vmovlb.s16 q1, q0\n" \
    "vldrw.u32 q3, [r2], #16\n" \
    "vmovlt.s16 q2, q0\n" \
    "vmlas.s32 q1, q5, r5\n" \
    load("q7", "r1") \
    "vmlas.s32 q2, q5, r5\n" \
    "vldrw.u32 q4, [r2], #16\n" \
    "vshl.s32 q1, r6\n" \
    "vmovlb.s16 q0, q7\n" \
    "vshl.s32 q2, r6\n" \
    "vmovlt.s16 q7, q7\n" \
    "vmulh.s32 q1, q1, q3\n" \
    "vmlas.s32 q0, q6, r8\n" \
    "vmulh.s32 q2, q2, q4\n" \
    "vmlas.s32 q7, q6, r8\n" \
    "vshl.s32 q0, r9\n" \
    "vmulh.s32 q0, q0, q3\n" \
    "vldrw.u32 q3, [r2], #16\n" \
    "vshl.s32 q7, r9\n" \
    "vmulh.s32 q7, q7, q4\n" \
    "vldrw.u32 q4, [r2], #16\n" \
    "vadd.i32 q1, q1, q3\n" \
    "vadd.i32 q0, q0, q3\n" \
    "vadd.i32 q2, q2, q4\n" \
    "vadd.i32 q7, q7, q4\n" \
    "vshrnb.i32 q1, q1, #16\n" \
    "vshrnb.i32 q0, q0, #16\n" \
    "vshrnt.i32 q1, q2, #16\n" \
    "vshrnt.i32 q0, q7, #16\n" \
    "vqmovnb.s16 q1, q1\n" \
    store("q1", "r3") \
    "vqmovnb.s16 q0, q0\n" \
    store("q0", "r4")
#define CCML_HELIUM_NORMALIZE_LOAD(q, from) "vldrb.s16 " q ", [" from "], #8\n"
#define CCML_HELIUM_NORMALIZE_STORE(q, to) "vstrb.16 " q ", [" to "], #8\n"
#define CCML_HELIUM_NORMALIZE_LOAD_SOME(q, from) "vpst\nvldrbt.s16 " q ", [" from "]\n"
#define CCML_HELIUM_NORMALIZE_STORE_SOME(q, to) "vpst\nvstrbt.16 " q ", [" to "]\n"

#define CCML_BLOCK_HELIUM_NORMALIZE_ROWS 1
/* Of the first row, r5 and r6 have the bias and the shift, to the left, and q5 the multiplier; of the second r8, r9 and
   q6. r1 and r4 are where the second row is read and written. */
CCML_NAKED ccml_helium_normalize_rows(
    const int8_t *x CCML_UNUSED, const int32_t *scaling CCML_UNUSED, const int32_t *steps CCML_UNUSED,
    int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r10, lr}\n"
        "vpush {d8-d15}\n"
        "ldm r1, {r4, r5, r6, r7, r8, r9}\n"
        "ldr r10, [sp, #96]\n"
        "vdup.32 q5, r4\n"
        "and r6, r6, #31\n"
        "vdup.32 q6, r7\n"
        "and r9, r9, #31\n"
        "add r1, r0, r10\n"
        "rsb r6, r6, #0\n"
        "add r4, r3, r10\n"
        "rsb r9, r9, #0\n"
        "lsr lr, r10, #3\n"
        "wls lr, lr, 2f\n"
        "1:\n" CCML_HELIUM_NORMALIZE_COLUMNS(CCML_HELIUM_NORMALIZE_LOAD, CCML_HELIUM_NORMALIZE_STORE)
        "le lr, 1b\n"
        "2:\n"
        "ands r10, r10, #7\n"
        "beq 3f\n"
        "vctp.16 r10\n" CCML_HELIUM_NORMALIZE_COLUMNS(
            CCML_HELIUM_NORMALIZE_LOAD_SOME, CCML_HELIUM_NORMALIZE_STORE_SOME)
        "3:\n"
        "vpop {d8-d15}\n"
        "pop {r4-r10, pc}\n");
}

#undef CCML_HELIUM_NORMALIZE_COLUMNS
#undef CCML_HELIUM_NORMALIZE_LOAD
#undef CCML_HELIUM_NORMALIZE_STORE
#undef CCML_HELIUM_NORMALIZE_LOAD_SOME
#undef CCML_HELIUM_NORMALIZE_STORE_SOME
#endif

#endif
