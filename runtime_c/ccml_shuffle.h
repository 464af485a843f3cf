/* Part of the ccml runtime: vectors from the lanes of two others, by constant numbers, those of y behind those of x.
   Compilers make permutations of it where the machine has them. `of` makes a vector of single lanes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_SHUFFLE_H
#define CCML_SHUFFLE_H

#include "ccml_x16.h"
#include "ccml_x4.h"
#include "ccml_x8.h"

#define CCML_PICK(vector, lanes, x, y, pick) \
    ((pick) < (lanes) ? vector##_lane(x, (pick) & ((lanes) - 1)) : vector##_lane(y, (pick) & ((lanes) - 1)))

#define CCML_SHUFFLE4(of, vector, x, y, a, b, c, d) \
    of( \
        vector, \
        CCML_PICK(vector, 4, x, y, a), CCML_PICK(vector, 4, x, y, b), \
        CCML_PICK(vector, 4, x, y, c), CCML_PICK(vector, 4, x, y, d))

#define CCML_SHUFFLE8(of, vector, x, y, a, b, c, d, e, f, g, h) \
    of( \
        vector, \
        CCML_PICK(vector, 8, x, y, a), CCML_PICK(vector, 8, x, y, b), \
        CCML_PICK(vector, 8, x, y, c), CCML_PICK(vector, 8, x, y, d), \
        CCML_PICK(vector, 8, x, y, e), CCML_PICK(vector, 8, x, y, f), \
        CCML_PICK(vector, 8, x, y, g), CCML_PICK(vector, 8, x, y, h))

#define CCML_SHUFFLE16(of, vector, x, y, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
    of( \
        vector, \
        CCML_PICK(vector, 16, x, y, a), CCML_PICK(vector, 16, x, y, b), \
        CCML_PICK(vector, 16, x, y, c), CCML_PICK(vector, 16, x, y, d), \
        CCML_PICK(vector, 16, x, y, e), CCML_PICK(vector, 16, x, y, f), \
        CCML_PICK(vector, 16, x, y, g), CCML_PICK(vector, 16, x, y, h), \
        CCML_PICK(vector, 16, x, y, i), CCML_PICK(vector, 16, x, y, j), \
        CCML_PICK(vector, 16, x, y, k), CCML_PICK(vector, 16, x, y, l), \
        CCML_PICK(vector, 16, x, y, m), CCML_PICK(vector, 16, x, y, n), \
        CCML_PICK(vector, 16, x, y, o), CCML_PICK(vector, 16, x, y, p))

#endif
