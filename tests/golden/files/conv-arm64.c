/* model: kernels and run function, by ccml 0.1.0.
   This file was written by ccml and may be used freely in any product, with or without this notice. */

#include "model.h"
#include "model_internal.h"

#undef model_run

/* conv 3x3: f32[1,6,6,8] -> f32[1,4,4,16]
   layer */
static CCML_APART void model_conv_0(const float * restrict x_2, const float * restrict x, const float * restrict w, float * restrict y)
{
  for (ptrdiff_t o = 0; o < 4; ++o)
  {
    ccml_f32x4 acc_0_0_0;
    ccml_f32x4 acc_0_0_1;
    ccml_f32x4 acc_0_0_2;
    ccml_f32x4 acc_0_0_3;
    ccml_f32x4 acc_0_1_0;
    ccml_f32x4 acc_0_1_1;
    ccml_f32x4 acc_0_1_2;
    ccml_f32x4 acc_0_1_3;
    ccml_f32x4 acc_0_2_0;
    ccml_f32x4 acc_0_2_1;
    ccml_f32x4 acc_0_2_2;
    ccml_f32x4 acc_0_2_3;
    ccml_f32x4 acc_0_3_0;
    ccml_f32x4 acc_0_3_1;
    ccml_f32x4 acc_0_3_2;
    ccml_f32x4 acc_0_3_3;
    const ccml_f32x4 init = ccml_f32x4_load(&x_2[0]);
    acc_0_0_0 = init;
    acc_0_1_0 = init;
    acc_0_2_0 = init;
    acc_0_3_0 = init;
    const ccml_f32x4 init_1 = ccml_f32x4_load(&x_2[4]);
    acc_0_0_1 = init_1;
    acc_0_1_1 = init_1;
    acc_0_2_1 = init_1;
    acc_0_3_1 = init_1;
    const ccml_f32x4 init_2 = ccml_f32x4_load(&x_2[8]);
    acc_0_0_2 = init_2;
    acc_0_1_2 = init_2;
    acc_0_2_2 = init_2;
    acc_0_3_2 = init_2;
    const ccml_f32x4 init_3 = ccml_f32x4_load(&x_2[12]);
    acc_0_0_3 = init_3;
    acc_0_1_3 = init_3;
    acc_0_2_3 = init_3;
    acc_0_3_3 = init_3;
    ccml_f32x4 wv_0;
    ccml_f32x4 wv_1;
    ccml_f32x4 wv_2;
    ccml_f32x4 wv_3;
    ccml_f32x4 xs_0;
    ccml_f32x4 xs_1;
    ccml_f32x4 xs_2;
    ccml_f32x4 xs_3;
    for (ptrdiff_t k = 0; k < 3; ++k)
    {
      for (ptrdiff_t kb = 0; kb < 6; ++kb)
      {
        xs_0 = ccml_f32x4_load(&x[(o + k) * 48 + kb * 4]);
        xs_1 = ccml_f32x4_load(&x[(o + k) * 48 + kb * 4 + 8]);
        xs_2 = ccml_f32x4_load(&x[(o + k) * 48 + kb * 4 + 16]);
        xs_3 = ccml_f32x4_load(&x[(o + k) * 48 + kb * 4 + 24]);
        wv_0 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16]);
        wv_1 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 4]);
        wv_2 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 8]);
        wv_3 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 12]);
        acc_0_0_0 = ccml_f32x4_fma_lane(xs_0, 0, wv_0, acc_0_0_0);
        acc_0_0_1 = ccml_f32x4_fma_lane(xs_0, 0, wv_1, acc_0_0_1);
        acc_0_0_2 = ccml_f32x4_fma_lane(xs_0, 0, wv_2, acc_0_0_2);
        acc_0_0_3 = ccml_f32x4_fma_lane(xs_0, 0, wv_3, acc_0_0_3);
        acc_0_1_0 = ccml_f32x4_fma_lane(xs_1, 0, wv_0, acc_0_1_0);
        acc_0_1_1 = ccml_f32x4_fma_lane(xs_1, 0, wv_1, acc_0_1_1);
        acc_0_1_2 = ccml_f32x4_fma_lane(xs_1, 0, wv_2, acc_0_1_2);
        acc_0_1_3 = ccml_f32x4_fma_lane(xs_1, 0, wv_3, acc_0_1_3);
        acc_0_2_0 = ccml_f32x4_fma_lane(xs_2, 0, wv_0, acc_0_2_0);
        acc_0_2_1 = ccml_f32x4_fma_lane(xs_2, 0, wv_1, acc_0_2_1);
        acc_0_2_2 = ccml_f32x4_fma_lane(xs_2, 0, wv_2, acc_0_2_2);
        acc_0_2_3 = ccml_f32x4_fma_lane(xs_2, 0, wv_3, acc_0_2_3);
        acc_0_3_0 = ccml_f32x4_fma_lane(xs_3, 0, wv_0, acc_0_3_0);
        acc_0_3_1 = ccml_f32x4_fma_lane(xs_3, 0, wv_1, acc_0_3_1);
        acc_0_3_2 = ccml_f32x4_fma_lane(xs_3, 0, wv_2, acc_0_3_2);
        acc_0_3_3 = ccml_f32x4_fma_lane(xs_3, 0, wv_3, acc_0_3_3);
        wv_0 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 16]);
        wv_1 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 20]);
        wv_2 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 24]);
        wv_3 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 28]);
        acc_0_0_0 = ccml_f32x4_fma_lane(xs_0, 1, wv_0, acc_0_0_0);
        acc_0_0_1 = ccml_f32x4_fma_lane(xs_0, 1, wv_1, acc_0_0_1);
        acc_0_0_2 = ccml_f32x4_fma_lane(xs_0, 1, wv_2, acc_0_0_2);
        acc_0_0_3 = ccml_f32x4_fma_lane(xs_0, 1, wv_3, acc_0_0_3);
        acc_0_1_0 = ccml_f32x4_fma_lane(xs_1, 1, wv_0, acc_0_1_0);
        acc_0_1_1 = ccml_f32x4_fma_lane(xs_1, 1, wv_1, acc_0_1_1);
        acc_0_1_2 = ccml_f32x4_fma_lane(xs_1, 1, wv_2, acc_0_1_2);
        acc_0_1_3 = ccml_f32x4_fma_lane(xs_1, 1, wv_3, acc_0_1_3);
        acc_0_2_0 = ccml_f32x4_fma_lane(xs_2, 1, wv_0, acc_0_2_0);
        acc_0_2_1 = ccml_f32x4_fma_lane(xs_2, 1, wv_1, acc_0_2_1);
        acc_0_2_2 = ccml_f32x4_fma_lane(xs_2, 1, wv_2, acc_0_2_2);
        acc_0_2_3 = ccml_f32x4_fma_lane(xs_2, 1, wv_3, acc_0_2_3);
        acc_0_3_0 = ccml_f32x4_fma_lane(xs_3, 1, wv_0, acc_0_3_0);
        acc_0_3_1 = ccml_f32x4_fma_lane(xs_3, 1, wv_1, acc_0_3_1);
        acc_0_3_2 = ccml_f32x4_fma_lane(xs_3, 1, wv_2, acc_0_3_2);
        acc_0_3_3 = ccml_f32x4_fma_lane(xs_3, 1, wv_3, acc_0_3_3);
        wv_0 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 32]);
        wv_1 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 36]);
        wv_2 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 40]);
        wv_3 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 44]);
        acc_0_0_0 = ccml_f32x4_fma_lane(xs_0, 2, wv_0, acc_0_0_0);
        acc_0_0_1 = ccml_f32x4_fma_lane(xs_0, 2, wv_1, acc_0_0_1);
        acc_0_0_2 = ccml_f32x4_fma_lane(xs_0, 2, wv_2, acc_0_0_2);
        acc_0_0_3 = ccml_f32x4_fma_lane(xs_0, 2, wv_3, acc_0_0_3);
        acc_0_1_0 = ccml_f32x4_fma_lane(xs_1, 2, wv_0, acc_0_1_0);
        acc_0_1_1 = ccml_f32x4_fma_lane(xs_1, 2, wv_1, acc_0_1_1);
        acc_0_1_2 = ccml_f32x4_fma_lane(xs_1, 2, wv_2, acc_0_1_2);
        acc_0_1_3 = ccml_f32x4_fma_lane(xs_1, 2, wv_3, acc_0_1_3);
        acc_0_2_0 = ccml_f32x4_fma_lane(xs_2, 2, wv_0, acc_0_2_0);
        acc_0_2_1 = ccml_f32x4_fma_lane(xs_2, 2, wv_1, acc_0_2_1);
        acc_0_2_2 = ccml_f32x4_fma_lane(xs_2, 2, wv_2, acc_0_2_2);
        acc_0_2_3 = ccml_f32x4_fma_lane(xs_2, 2, wv_3, acc_0_2_3);
        acc_0_3_0 = ccml_f32x4_fma_lane(xs_3, 2, wv_0, acc_0_3_0);
        acc_0_3_1 = ccml_f32x4_fma_lane(xs_3, 2, wv_1, acc_0_3_1);
        acc_0_3_2 = ccml_f32x4_fma_lane(xs_3, 2, wv_2, acc_0_3_2);
        acc_0_3_3 = ccml_f32x4_fma_lane(xs_3, 2, wv_3, acc_0_3_3);
        wv_0 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 48]);
        wv_1 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 52]);
        wv_2 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 56]);
        wv_3 = ccml_f32x4_load(&w[k * 384 + kb * 4 * 16 + 60]);
        acc_0_0_0 = ccml_f32x4_fma_lane(xs_0, 3, wv_0, acc_0_0_0);
        acc_0_0_1 = ccml_f32x4_fma_lane(xs_0, 3, wv_1, acc_0_0_1);
        acc_0_0_2 = ccml_f32x4_fma_lane(xs_0, 3, wv_2, acc_0_0_2);
        acc_0_0_3 = ccml_f32x4_fma_lane(xs_0, 3, wv_3, acc_0_0_3);
        acc_0_1_0 = ccml_f32x4_fma_lane(xs_1, 3, wv_0, acc_0_1_0);
        acc_0_1_1 = ccml_f32x4_fma_lane(xs_1, 3, wv_1, acc_0_1_1);
        acc_0_1_2 = ccml_f32x4_fma_lane(xs_1, 3, wv_2, acc_0_1_2);
        acc_0_1_3 = ccml_f32x4_fma_lane(xs_1, 3, wv_3, acc_0_1_3);
        acc_0_2_0 = ccml_f32x4_fma_lane(xs_2, 3, wv_0, acc_0_2_0);
        acc_0_2_1 = ccml_f32x4_fma_lane(xs_2, 3, wv_1, acc_0_2_1);
        acc_0_2_2 = ccml_f32x4_fma_lane(xs_2, 3, wv_2, acc_0_2_2);
        acc_0_2_3 = ccml_f32x4_fma_lane(xs_2, 3, wv_3, acc_0_2_3);
        acc_0_3_0 = ccml_f32x4_fma_lane(xs_3, 3, wv_0, acc_0_3_0);
        acc_0_3_1 = ccml_f32x4_fma_lane(xs_3, 3, wv_1, acc_0_3_1);
        acc_0_3_2 = ccml_f32x4_fma_lane(xs_3, 3, wv_2, acc_0_3_2);
        acc_0_3_3 = ccml_f32x4_fma_lane(xs_3, 3, wv_3, acc_0_3_3);
      }
    }
    const ccml_f32x4 v = acc_0_0_0;
    ccml_f32x4_store(&y[o * 64], v);
    const ccml_f32x4 v_1 = acc_0_0_1;
    ccml_f32x4_store(&y[o * 64 + 4], v_1);
    const ccml_f32x4 v_2 = acc_0_0_2;
    ccml_f32x4_store(&y[o * 64 + 8], v_2);
    const ccml_f32x4 v_3 = acc_0_0_3;
    ccml_f32x4_store(&y[o * 64 + 12], v_3);
    const ccml_f32x4 v_4 = acc_0_1_0;
    ccml_f32x4_store(&y[o * 64 + 16], v_4);
    const ccml_f32x4 v_5 = acc_0_1_1;
    ccml_f32x4_store(&y[o * 64 + 20], v_5);
    const ccml_f32x4 v_6 = acc_0_1_2;
    ccml_f32x4_store(&y[o * 64 + 24], v_6);
    const ccml_f32x4 v_7 = acc_0_1_3;
    ccml_f32x4_store(&y[o * 64 + 28], v_7);
    const ccml_f32x4 v_8 = acc_0_2_0;
    ccml_f32x4_store(&y[o * 64 + 32], v_8);
    const ccml_f32x4 v_9 = acc_0_2_1;
    ccml_f32x4_store(&y[o * 64 + 36], v_9);
    const ccml_f32x4 v_10 = acc_0_2_2;
    ccml_f32x4_store(&y[o * 64 + 40], v_10);
    const ccml_f32x4 v_11 = acc_0_2_3;
    ccml_f32x4_store(&y[o * 64 + 44], v_11);
    const ccml_f32x4 v_12 = acc_0_3_0;
    ccml_f32x4_store(&y[o * 64 + 48], v_12);
    const ccml_f32x4 v_13 = acc_0_3_1;
    ccml_f32x4_store(&y[o * 64 + 52], v_13);
    const ccml_f32x4 v_14 = acc_0_3_2;
    ccml_f32x4_store(&y[o * 64 + 56], v_14);
    const ccml_f32x4 v_15 = acc_0_3_3;
    ccml_f32x4_store(&y[o * 64 + 60], v_15);
  }
}

uint32_t model_model_id(void)
{
    return MODEL_MODEL_ID;
}

int model_run(void *arena, const float *x, float *conv)
{
  if (x == NULL || conv == NULL)
  {
    return MODEL_ERROR_NULL;
  }
  (void)arena;
  /* layer 0: conv 3x3: f32[1,6,6,8] -> f32[1,4,4,16]
     layer */
  model_conv_0(model_c_0, x, model_w_0, conv);
  return MODEL_OK;
}
