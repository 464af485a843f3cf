/* Part of the ccml runtime: rows of a depthwise 3x3 convolution of one channel, staged as a plane of words.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE3X3_H
#define CCML_DEPTHWISE3X3_H

#include "ccml_scale.h"
#include "ccml_thumb.h"

/* One output. */
static inline int32_t ccml_depthwise_one(int32_t acc, const int8_t *w, const int32_t *x, int32_t row)
{
    for (int32_t k = 0; k < 3; ++k) {
        acc += x[0] * w[3 * k] + x[1] * w[3 * k + 1] + x[2] * w[3 * k + 2];
        x += row;
    }
    return acc;
}

/* Four outputs that are `stride` apart in the plane. */
static inline void ccml_depthwise_four(
    int32_t bias, const int8_t *w, const int32_t *x, int32_t *y, int32_t stride, int32_t row)
{
    int32_t acc0 = bias;
    int32_t acc1 = bias;
    int32_t acc2 = bias;
    int32_t acc3 = bias;
    for (int32_t k = 0; k < 3; ++k) {
        const int32_t w0 = w[3 * k];
        const int32_t w1 = w[3 * k + 1];
        const int32_t w2 = w[3 * k + 2];
        acc0 += x[0] * w0 + x[1] * w1 + x[2] * w2;
        acc1 += x[stride] * w0 + x[stride + 1] * w1 + x[stride + 2] * w2;
        acc2 += x[2 * stride] * w0 + x[2 * stride + 1] * w1 + x[2 * stride + 2] * w2;
        acc3 += x[3 * stride] * w0 + x[3 * stride + 1] * w1 + x[3 * stride + 2] * w2;
        x += row;
    }
    y[0] = acc0;
    y[1] = acc1;
    y[2] = acc2;
    y[3] = acc3;
}

CCML_OUT_OF_LINE void ccml_depthwise3x3(
    const int32_t *b, const int8_t *w, const int32_t *x, int32_t *y, int32_t rows, int32_t outputs, int32_t stride,
    int32_t row)
{
    for (int32_t r = 0; r < rows; ++r) {
        int32_t i = 0;
        for (; i + 4 <= outputs; i += 4) {
            if (stride == 1) {
                ccml_depthwise_four(*b, w, x + i, y + i, 1, row);
            } else {
                ccml_depthwise_four(*b, w, x + 2 * i, y + i, 2, row);
            }
        }
        for (; i < outputs; ++i) {
            y[i] = ccml_depthwise_one(*b, w, x + stride * i, row);
        }
        x += stride * row;
        y += outputs;
    }
}

#endif
