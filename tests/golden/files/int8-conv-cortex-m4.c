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
static CCML_APART void model_conv_0(const int8_t *x, const int32_t * restrict w, int32_t * restrict pixels, int8_t *y)
{
  for (ptrdiff_t tile = 0; tile < 9; ++tile)
  {
    for (ptrdiff_t slot = 0; slot < 4; ++slot)
    {
      for (ptrdiff_t k = 0; k < 3; ++k)
      {
        if (ccml_index_floordiv(tile * 4 + slot, 6) * 2 + k + -1 >= 0)
        {
          if (ccml_index_floormod(tile * 4 + slot, 6) * 2 + -1 >= 0)
          {
            ccml_im2col_x4_pixel(&x[(ccml_index_floordiv(tile * 4 + slot, 6) * 2 + k) * 48 + ccml_index_floormod(tile * 4 + slot, 6) * 2 * 4 - 52], &pixels[k * 3 * 8 + slot], 3);
          }
          else
          {
            for (ptrdiff_t tap = 0; tap < 3; ++tap)
            {
              if (ccml_index_floormod(tile * 4 + slot, 6) * 2 + tap + -1 >= 0)
              {
                ccml_im2col_x4_pixel(&x[(ccml_index_floordiv(tile * 4 + slot, 6) * 2 + k) * 48 + (ccml_index_floormod(tile * 4 + slot, 6) * 2 + tap) * 4 - 52], &pixels[(k * 3 + tap) * 8 + slot], 1);
              }
              else
              {
                ccml_im2col_x4_fill(&pixels[(k * 3 + tap) * 8 + slot], 1, 3);
              }
            }
          }
        }
        else
        {
          ccml_im2col_x4_fill(&pixels[k * 3 * 8 + slot], 3, 3);
        }
      }
    }
    ccml_gemm_packed_2x4_fixed12(&w[0], &pixels[0], &y[ccml_index_floordiv(tile * 4, 6) * 48 + ccml_index_floormod(tile * 4, 6) * 8], &y[ccml_index_floordiv(tile * 4 + 1, 6) * 48 + ccml_index_floormod(tile * 4 + 1, 6) * 8], &y[ccml_index_floordiv(tile * 4 + 2, 6) * 48 + ccml_index_floormod(tile * 4 + 2, 6) * 8], &y[ccml_index_floordiv(tile * 4 + 3, 6) * 48 + ccml_index_floormod(tile * 4 + 3, 6) * 8], 9, 8, -128);
  }
}

/* conv 3x3, group 8; requantize: i8[1,6,6,8] -> i8[1,6,6,8]
   conv_7 + relu_8 */
static CCML_APART void model_conv_1(const int8_t * restrict border, const int8_t *x, const int32_t * restrict w, int32_t * restrict pairs, int8_t *y)
{
  for (ptrdiff_t at = 0; at < 128; ++at)
  {
    pairs[at] = -8323200;
  }
  for (ptrdiff_t chunk = 0; chunk < 2; ++chunk)
  {
    ccml_depthwise_stage_pairs(&border[0], &x[chunk * 4], &pairs[4], 1, 6, 0, 8, 96, 8);
    ccml_depthwise_stage_pairs(&x[chunk * 4 + 48], &x[chunk * 4 + 96], &pairs[36], 2, 6, 8, 8, 96, 8);
    ccml_depthwise_stage_pairs(&x[chunk * 4 + 240], &border[0], &pairs[100], 1, 6, 8, 0, 96, 8);
    ccml_depthwise_map(&w[chunk * 4 * 5], &pairs[0], &y[chunk * 4], 6, 6, 48, 8, -128);
  }
}

/* conv 1x1; requantize: i8[1,6,6,8] -> i8[1,6,6,8]
   conv_12 + relu_13 */
static CCML_APART void model_conv_2(const int32_t * restrict w, const int8_t * restrict x, int8_t * restrict y)
{
  for (ptrdiff_t run = 0; run < 2; ++run)
  {
    ccml_pointwise_8(&w[0], &x[run * 18 * 8], &y[run * 18 * 8], 18, 8, 8, 8, 8, -128);
  }
}

/* reduce; requantize: i8[1,6,6,8] -> i8[1,1,1,8]
   reduce_16 */
static CCML_APART void model_reduce_0(const int8_t * restrict x, int32_t * restrict acc, int8_t * restrict y)
{
  ccml_channel_sums(&x[0], &acc[0], 36, 8, 4608);
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
  model_transpose_0(x, (int8_t *)(void *)(memory + 4));
  /* layer 1: conv 3x3, stride 2x2; requantize: i8[1,12,12,4] -> i8[1,6,6,8]
     conv_2 + relu_3 */
  model_conv_0((int8_t *)(void *)(memory + 4), model_w_0, (int32_t *)(void *)(memory + 584), (int8_t *)(void *)memory);
  /* layer 2: conv 3x3, group 8; requantize: i8[1,6,6,8] -> i8[1,6,6,8]
     conv_7 + relu_8 */
  model_conv_1(model_w_1, (int8_t *)(void *)memory, model_w_2, (int32_t *)(void *)(memory + 288), (int8_t *)(void *)memory);
  /* layer 3: conv 1x1; requantize: i8[1,6,6,8] -> i8[1,6,6,8]
     conv_12 + relu_13 */
  model_conv_2(model_w_3, (int8_t *)(void *)memory, (int8_t *)(void *)(memory + 288));
  /* layer 4: reduce; requantize: i8[1,6,6,8] -> i8[1,1,1,8]
     reduce_16 */
  model_reduce_0((int8_t *)(void *)(memory + 288), (int32_t *)(void *)memory, quantize_3);
  return MODEL_OK;
}
