/* model: kernels and run function, by ccml 0.1.0.
   This file was written by ccml and may be used freely in any product, with or without this notice. */

#include "model.h"
#include "model_internal.h"

#undef model_run

/* gru: f32[5,1,3] -> f32[5,1,1,4]
   gru */
static CCML_APART void model_gru_0(const float * restrict x_3, const float * restrict x, const float * restrict x_1, const float * restrict x_2, float * restrict y)
{
  float work[12];
  float work_1[4];
  float state[4];
  for (ptrdiff_t k = 0; k < 4; ++k)
  {
    state[k] = 0.0f;
  }
  for (ptrdiff_t t = 0; t < 5; ++t)
  {
    for (ptrdiff_t k_1 = 0; k_1 < 8; ++k_1)
    {
      float acc_0;
      acc_0 = x_3[k_1] + x_3[k_1 + 12];
      for (ptrdiff_t i = 0; i < 3; ++i)
      {
        acc_0 = acc_0 + x[t * 3 + i] * x_1[k_1 * 3 + i];
      }
      for (ptrdiff_t j = 0; j < 4; ++j)
      {
        acc_0 = acc_0 + state[j] * x_2[k_1 * 4 + j];
      }
      work[k_1] = acc_0;
    }
    for (ptrdiff_t k_2 = 0; k_2 < 4; ++k_2)
    {
      float acc_1_0;
      acc_1_0 = x_3[k_2 + 20];
      for (ptrdiff_t j_1 = 0; j_1 < 4; ++j_1)
      {
        acc_1_0 = acc_1_0 + state[j_1] * x_2[k_2 * 4 + j_1 + 32];
      }
      work_1[k_2] = acc_1_0;
    }
    for (ptrdiff_t k_3 = 0; k_3 < 4; ++k_3)
    {
      float acc_2_0;
      acc_2_0 = x_3[k_3 + 8];
      for (ptrdiff_t i_1 = 0; i_1 < 3; ++i_1)
      {
        acc_2_0 = acc_2_0 + x[t * 3 + i_1] * x_1[k_3 * 3 + i_1 + 24];
      }
      work[k_3 + 8] = acc_2_0;
    }
    for (ptrdiff_t k_4 = 0; k_4 < 8; ++k_4)
    {
      const float sum = work[k_4];
      const float x_4 = ccml_f32_min(87.33f, ccml_f32_max(-89.0f, sum));
      const float shifted = x_4 * -1.442695f + 1.2582912e+07f;
      const float n = shifted - 1.2582912e+07f;
      const float r = n * 1.4286068e-06f + (n * 0.69314575f + x_4);
      work[k_4] = 1.0f / ((1.0f - (r * r * ((((-0.0013814507f * r + 0.008368756f) * r + -0.041668393f) * r + 0.1666652f) * r + -0.49999994f) + r)) * ccml_u32_as_f32((ccml_f32_as_u32(shifted) + 127u) << 23u) + 1.0f);
    }
    for (ptrdiff_t k_5 = 0; k_5 < 4; ++k_5)
    {
      const float z = work[k_5];
      const float sum_1 = work[k_5 + 8] + work[k_5 + 4] * work_1[k_5];
      const float a = ccml_f32_min(10.0f, ccml_f32_abs(sum_1)) * -2.0f;
      const float shifted_1 = a * 1.442695f + 1.2582912e+07f;
      const float n_1 = shifted_1 - 1.2582912e+07f;
      const float r_1 = n_1 * -1.4286068e-06f + (n_1 * -0.69314575f + a);
      const float scale = ccml_u32_as_f32((ccml_f32_as_u32(shifted_1) + 127u) << 23u);
      const float m = 1.0f - scale - scale * (r_1 * r_1 * ((((0.0013814507f * r_1 + 0.008368756f) * r_1 + 0.041668393f) * r_1 + 0.1666652f) * r_1 + 0.49999994f) + r_1);
      const float y_1 = (1.0f - z) * ccml_u32_as_f32(ccml_f32_as_u32(m / (2.0f - m)) | (ccml_f32_as_u32(sum_1) & 2147483648u)) + z * state[k_5];
      state[k_5] = y_1;
      y[t * 4 + k_5] = y_1;
    }
  }
}

uint32_t model_model_id(void)
{
    return MODEL_MODEL_ID;
}

int model_run(void *arena, const float *x, float *y)
{
  if (x == NULL || y == NULL)
  {
    return MODEL_ERROR_NULL;
  }
  (void)arena;
  /* layer 0: gru: f32[5,1,3] -> f32[5,1,1,4]
     gru */
  model_gru_0(model_c_0, x, model_c_1, model_c_2, y);
  return MODEL_OK;
}
