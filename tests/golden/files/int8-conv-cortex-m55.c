/* model: kernels and run function, by ccml 0.1.0.
   This file was written by ccml and may be used freely in any product, with or without this notice. */

#include "model.h"
#include "model_internal.h"

#undef model_run

/* transpose: i8[1,4,12,12] -> i8[1,12,12,4]
   conv_2 */
static CCML_APART void model_transpose_0(const int8_t *x, int8_t *y)
{
  for (ptrdiff_t i_1 = 0; i_1 < 12; ++i_1)
  {
    for (ptrdiff_t i_2 = 0; i_2 < 12; ++i_2)
    {
      for (ptrdiff_t i_3 = 0; i_3 < 4; ++i_3)
      {
        y[i_1 * 48 + i_2 * 4 + i_3] = x[i_3 * 144 + i_1 * 12 + i_2];
      }
    }
  }
}

/* conv 3x3, stride 2x2; requantize: i8[1,12,12,4] -> i8[1,6,6,8]
   conv_2 + relu_3 */
static CCML_APART void model_conv_0(const int8_t *x, const int32_t * restrict w, int8_t * restrict rows, int8_t *y)
{
  ccml_helium_fill(&rows[0], 156, 3);
  for (ptrdiff_t o_1 = 0; o_1 < 6; ++o_1)
  {
    for (ptrdiff_t row = 0; row < 3; ++row)
    {
      if (o_1 * 2 + row + -1 >= 0)
      {
        ccml_helium_copy(&x[(o_1 * 2 + row) * 48 - 48], &rows[row * 52 + 4], 1, 48, 0, 0);
      }
      else
      {
        ccml_helium_fill(&rows[row * 52], 52, 3);
      }
    }
    ccml_helium_gemm_4x2_short_runs_fixed(&w[0], &rows[0], &y[o_1 * 48], 3, 1, 52, 6, 8, 8, -128);
  }
}

/* conv 3x3, group 8; requantize: i8[1,6,6,8] -> i8[1,6,6,8]
   conv_7 + relu_8 */
static void model_conv_1(const int8_t * restrict x, const int32_t * restrict w, int8_t * restrict words, int8_t * restrict y)
{
  ccml_helium_fill(&words[0], 32, -128);
  ccml_helium_fill(&words[224], 32, -128);
  ccml_helium_interleave(&x[0], &x[0], &x[48], &x[96], &words[32], 48, 1, -128);
  ccml_helium_depthwise_rows_fixed(&w[0], &words[0], &y[0], &y[48], 3, 16, 8, 3, 16, -128);
  ccml_helium_interleave(&x[48], &x[96], &x[144], &x[192], &words[32], 48, 0, -128);
  ccml_helium_depthwise_rows_fixed(&w[0], &words[0], &y[96], &y[144], 3, 16, 8, 3, 16, -128);
  ccml_helium_interleave(&x[144], &x[192], &x[240], &x[144], &words[32], 48, 8, -128);
  ccml_helium_depthwise_rows_fixed(&w[0], &words[0], &y[192], &y[240], 3, 16, 8, 3, 16, -128);
}

/* conv 1x1; requantize: i8[1,6,6,8] -> i8[1,6,6,8]
   conv_12 + relu_13 */
static CCML_APART void model_conv_2(const int8_t * restrict x, const int32_t * restrict w, int8_t * restrict rows, int8_t * restrict y)
{
  for (ptrdiff_t o_1 = 0; o_1 < 6; ++o_1)
  {
    ccml_helium_copy(&x[o_1 * 48], &rows[0], 1, 48, 0, 0);
    ccml_helium_gemm_4x1_fixed(&w[0], &rows[0], &y[o_1 * 48], 6, 8, 8, 8, -128);
  }
}

/* reduce; requantize: i8[1,6,6,8] -> i8[1,1,1,8]
   reduce_16 */
static CCML_APART void model_reduce_0(const int8_t *x, int32_t * restrict acc, int8_t *y)
{
  ccml_helium_sum(&x[0], &acc[0], 36, 8, 4608);
  for (ptrdiff_t c = 0; c < 8; ++c)
  {
    y[c] = (int8_t)ccml_i32_saturate8((int32_t)((uint32_t)ccml_f32_as_i32((float)acc[c] * 0.013888889f + 1.2582912e+07f) - 1262485509u));
  }
}

uint32_t model_model_id(void)
{
    return MODEL_MODEL_ID;
}

int model_run(void *arena, const int8_t *x, int8_t *quantize_3)
{
  if (arena == NULL || x == NULL || quantize_3 == NULL)
  {
    return MODEL_ERROR_NULL;
  }
  if ((uintptr_t)arena % MODEL_ARENA_ALIGN != 0)
  {
    return MODEL_ERROR_ALIGN;
  }
  unsigned char * const memory = arena;
  /* layer 0: transpose: i8[1,4,12,12] -> i8[1,12,12,4]
     conv_2 */
  model_transpose_0(x, (int8_t *)(void *)memory);
  /* layer 1: conv 3x3, stride 2x2; requantize: i8[1,12,12,4] -> i8[1,6,6,8]
     conv_2 + relu_3 */
  model_conv_0((int8_t *)(void *)memory, model_w_0, (int8_t *)(void *)(memory + 576), (int8_t *)(void *)memory);
  /* layer 2: conv 3x3, group 8; requantize: i8[1,6,6,8] -> i8[1,6,6,8]
     conv_7 + relu_8 */
  model_conv_1((int8_t *)(void *)memory, model_w_1, (int8_t *)(void *)(memory + 576), (int8_t *)(void *)(memory + 288));
  /* layer 3: conv 1x1; requantize: i8[1,6,6,8] -> i8[1,6,6,8]
     conv_12 + relu_13 */
  model_conv_2((int8_t *)(void *)(memory + 288), model_w_2, (int8_t *)(void *)(memory + 576), (int8_t *)(void *)memory);
  /* layer 4: reduce; requantize: i8[1,6,6,8] -> i8[1,1,1,8]
     reduce_16 */
  model_reduce_0((int8_t *)(void *)memory, (int32_t *)(void *)(memory + 288), quantize_3);
  return MODEL_OK;
}
