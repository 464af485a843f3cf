/* model: kernels and run function, by ccml 0.1.0.
   This file was written by ccml and may be used freely in any product, with or without this notice. */

#include "model.h"
#include "model_internal.h"

#undef model_run

/* conv 3x3: f32[1,6,6,8] -> f32[1,4,4,16]
   layer */
static CCML_APART void model_conv_0(const float * restrict x_2, const float * restrict w, const float * restrict x, float * restrict y)
{
  for (ptrdiff_t o = 0; o < 4; ++o)
  {
    ccml_f32x8 acc_0_0_0;
    ccml_f32x8 acc_0_0_1;
    ccml_f32x8 acc_0_1_0;
    ccml_f32x8 acc_0_1_1;
    ccml_f32x8 acc_0_2_0;
    ccml_f32x8 acc_0_2_1;
    ccml_f32x8 acc_0_3_0;
    ccml_f32x8 acc_0_3_1;
    const ccml_f32x8 init = ccml_f32x8_load(&x_2[0]);
    acc_0_0_0 = init;
    acc_0_1_0 = init;
    acc_0_2_0 = init;
    acc_0_3_0 = init;
    const ccml_f32x8 init_1 = ccml_f32x8_load(&x_2[8]);
    acc_0_0_1 = init_1;
    acc_0_1_1 = init_1;
    acc_0_2_1 = init_1;
    acc_0_3_1 = init_1;
    ccml_f32x8 wv_0;
    ccml_f32x8 wv_1;
    for (ptrdiff_t k = 0; k < 3; ++k)
    {
      for (ptrdiff_t kb = 0; kb < 8; ++kb)
      {
        wv_0 = ccml_f32x8_load(&w[k * 384 + kb * 3 * 16]);
        wv_1 = ccml_f32x8_load(&w[k * 384 + kb * 3 * 16 + 8]);
        const ccml_f32x8 xv_1_1 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3]);
        acc_0_0_0 = ccml_f32x8_fma(xv_1_1, wv_0, acc_0_0_0);
        acc_0_0_1 = ccml_f32x8_fma(xv_1_1, wv_1, acc_0_0_1);
        const ccml_f32x8 xv_1_2 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3 + 8]);
        acc_0_1_0 = ccml_f32x8_fma(xv_1_2, wv_0, acc_0_1_0);
        acc_0_1_1 = ccml_f32x8_fma(xv_1_2, wv_1, acc_0_1_1);
        const ccml_f32x8 xv_1_3 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3 + 16]);
        acc_0_2_0 = ccml_f32x8_fma(xv_1_3, wv_0, acc_0_2_0);
        acc_0_2_1 = ccml_f32x8_fma(xv_1_3, wv_1, acc_0_2_1);
        const ccml_f32x8 xv_1_4 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3 + 24]);
        acc_0_3_0 = ccml_f32x8_fma(xv_1_4, wv_0, acc_0_3_0);
        acc_0_3_1 = ccml_f32x8_fma(xv_1_4, wv_1, acc_0_3_1);
        wv_0 = ccml_f32x8_load(&w[k * 384 + kb * 3 * 16 + 16]);
        wv_1 = ccml_f32x8_load(&w[k * 384 + kb * 3 * 16 + 24]);
        const ccml_f32x8 xv_2_1 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3 + 1]);
        acc_0_0_0 = ccml_f32x8_fma(xv_2_1, wv_0, acc_0_0_0);
        acc_0_0_1 = ccml_f32x8_fma(xv_2_1, wv_1, acc_0_0_1);
        const ccml_f32x8 xv_2_2 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3 + 9]);
        acc_0_1_0 = ccml_f32x8_fma(xv_2_2, wv_0, acc_0_1_0);
        acc_0_1_1 = ccml_f32x8_fma(xv_2_2, wv_1, acc_0_1_1);
        const ccml_f32x8 xv_2_3 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3 + 17]);
        acc_0_2_0 = ccml_f32x8_fma(xv_2_3, wv_0, acc_0_2_0);
        acc_0_2_1 = ccml_f32x8_fma(xv_2_3, wv_1, acc_0_2_1);
        const ccml_f32x8 xv_2_4 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3 + 25]);
        acc_0_3_0 = ccml_f32x8_fma(xv_2_4, wv_0, acc_0_3_0);
        acc_0_3_1 = ccml_f32x8_fma(xv_2_4, wv_1, acc_0_3_1);
        wv_0 = ccml_f32x8_load(&w[k * 384 + kb * 3 * 16 + 32]);
        wv_1 = ccml_f32x8_load(&w[k * 384 + kb * 3 * 16 + 40]);
        const ccml_f32x8 xv_3_1 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3 + 2]);
        acc_0_0_0 = ccml_f32x8_fma(xv_3_1, wv_0, acc_0_0_0);
        acc_0_0_1 = ccml_f32x8_fma(xv_3_1, wv_1, acc_0_0_1);
        const ccml_f32x8 xv_3_2 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3 + 10]);
        acc_0_1_0 = ccml_f32x8_fma(xv_3_2, wv_0, acc_0_1_0);
        acc_0_1_1 = ccml_f32x8_fma(xv_3_2, wv_1, acc_0_1_1);
        const ccml_f32x8 xv_3_3 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3 + 18]);
        acc_0_2_0 = ccml_f32x8_fma(xv_3_3, wv_0, acc_0_2_0);
        acc_0_2_1 = ccml_f32x8_fma(xv_3_3, wv_1, acc_0_2_1);
        const ccml_f32x8 xv_3_4 = ccml_f32x8_splat(x[(o + k) * 48 + kb * 3 + 26]);
        acc_0_3_0 = ccml_f32x8_fma(xv_3_4, wv_0, acc_0_3_0);
        acc_0_3_1 = ccml_f32x8_fma(xv_3_4, wv_1, acc_0_3_1);
      }
    }
    const ccml_f32x8 v = acc_0_0_0;
    ccml_f32x8_store(&y[o * 64], v);
    const ccml_f32x8 v_1 = acc_0_0_1;
    ccml_f32x8_store(&y[o * 64 + 8], v_1);
    const ccml_f32x8 v_2 = acc_0_1_0;
    ccml_f32x8_store(&y[o * 64 + 16], v_2);
    const ccml_f32x8 v_3 = acc_0_1_1;
    ccml_f32x8_store(&y[o * 64 + 24], v_3);
    const ccml_f32x8 v_4 = acc_0_2_0;
    ccml_f32x8_store(&y[o * 64 + 32], v_4);
    const ccml_f32x8 v_5 = acc_0_2_1;
    ccml_f32x8_store(&y[o * 64 + 40], v_5);
    const ccml_f32x8 v_6 = acc_0_3_0;
    ccml_f32x8_store(&y[o * 64 + 48], v_6);
    const ccml_f32x8 v_7 = acc_0_3_1;
    ccml_f32x8_store(&y[o * 64 + 56], v_7);
  }
}

/* Whether the CPU has what the compiler was told that it may use. */
#if defined(__GNUC__) && defined(__x86_64__)
#define MODEL_ANY_CPU __attribute__((noinline, target("arch=x86-64")))
#define MODEL_APART __attribute__((noinline))

MODEL_ANY_CPU
static void model_cpu_fits_now_cpuid(unsigned int leaf, unsigned int subleaf, unsigned int registers[4])
{
    __asm__ volatile("cpuid"
                     : "=a"(registers[0]), "=b"(registers[1]), "=c"(registers[2]), "=d"(registers[3])
                     : "a"(leaf), "c"(subleaf));
}

MODEL_ANY_CPU
static int model_cpu_fits_now(void)
{
    /* Leaf, subleaf, register, bit, what the operating system has to save, and what of it has to be asked for. */
    static const unsigned int needs[][6] = {
#if defined(__SSE3__)
        {0x1u, 0, 2, 0x1u, 0x0u, 0},
#endif
#if defined(__SSSE3__)
        {0x1u, 0, 2, 0x200u, 0x0u, 0},
#endif
#if defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
        {0x1u, 0, 2, 0x2000u, 0x0u, 0},
#endif
#if defined(__SSE4_1__)
        {0x1u, 0, 2, 0x80000u, 0x0u, 0},
#endif
#if defined(__SSE4_2__)
        {0x1u, 0, 2, 0x100000u, 0x0u, 0},
#endif
#if defined(__MOVBE__)
        {0x1u, 0, 2, 0x400000u, 0x0u, 0},
#endif
#if defined(__POPCNT__)
        {0x1u, 0, 2, 0x800000u, 0x0u, 0},
#endif
#if defined(__XSAVE__)
        {0x1u, 0, 2, 0x4000000u, 0x0u, 0},
#endif
#if defined(__FMA__)
        {0x1u, 0, 2, 0x1000u, 0x6u, 0},
#endif
#if defined(__AVX__)
        {0x1u, 0, 2, 0x10000000u, 0x6u, 0},
#endif
#if defined(__F16C__)
        {0x1u, 0, 2, 0x20000000u, 0x6u, 0},
#endif
#if defined(__BMI__)
        {0x7u, 0, 1, 0x8u, 0x0u, 0},
#endif
#if defined(__BMI2__)
        {0x7u, 0, 1, 0x100u, 0x0u, 0},
#endif
#if defined(__AVX2__)
        {0x7u, 0, 1, 0x20u, 0x6u, 0},
#endif
#if defined(__AVXVNNI__)
        {0x7u, 1, 0, 0x10u, 0x6u, 0},
#endif
#if defined(__AVX512BF16__)
        {0x7u, 1, 0, 0x20u, 0xe6u, 0},
#endif
#if defined(__AVX512F__)
        {0x7u, 0, 1, 0x10000u, 0xe6u, 0},
#endif
#if defined(__AVX512DQ__)
        {0x7u, 0, 1, 0x20000u, 0xe6u, 0},
#endif
#if defined(__AVX512CD__)
        {0x7u, 0, 1, 0x10000000u, 0xe6u, 0},
#endif
#if defined(__AVX512BW__)
        {0x7u, 0, 1, 0x40000000u, 0xe6u, 0},
#endif
#if defined(__AVX512VL__)
        {0x7u, 0, 1, 0x80000000u, 0xe6u, 0},
#endif
#if defined(__AVX512VNNI__)
        {0x7u, 0, 2, 0x800u, 0xe6u, 0},
#endif
#if defined(__AMX_TILE__) || defined(__AMXTILE__)
        {0x7u, 0, 3, 0x1000000u, 0x600e6u, 18},
#endif
#if defined(__AMX_INT8__) || defined(__AMXINT8__)
        {0x7u, 0, 3, 0x2000000u, 0x600e6u, 18},
#endif
#if defined(__LAHF_SAHF__)
        {0x80000001u, 0, 2, 0x1u, 0x0u, 0},
#endif
#if defined(__LZCNT__)
        {0x80000001u, 0, 2, 0x20u, 0x0u, 0},
#endif
        {0, 0, 0, 0, 0, 0}
    };
    unsigned int i, registers[4], low, high;
    for (i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        model_cpu_fits_now_cpuid(needs[i][0] & 0x80000000u, 0, registers);
        if (registers[0] < needs[i][0])
            return 0;
        model_cpu_fits_now_cpuid(needs[i][0], needs[i][1], registers);
        if ((registers[needs[i][2]] & needs[i][3]) != needs[i][3])
            return 0;
        if (needs[i][4] != 0) {
            model_cpu_fits_now_cpuid(1, 0, registers);
            if ((registers[2] & 0x8000000u) == 0) /* OSXSAVE */
                return 0;
            __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
            (void)high;
            if ((low & needs[i][4]) != needs[i][4])
                return 0;
        }
        if (needs[i][5] != 0) {
#if defined(__linux__)
            long result = 158;
            __asm__ volatile("syscall"
                             : "+a"(result)
                             : "D"(0x1023l), "S"((long)needs[i][5])
                             : "rcx", "r11", "memory");
            if (result != 0)
#endif
                return 0;
        }
    }
    return 1;
}

MODEL_ANY_CPU
static int model_cpu_fits(void)
{
    static int answer; /* 0: nobody asked yet, 1: it has, 2: it has not */
    int known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
    if (known == 0) {
        known = model_cpu_fits_now() ? 1 : 2;
        __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
    }
    return known == 1;
}
#else
#define MODEL_ANY_CPU
#define MODEL_APART
static int model_cpu_fits(void)
{
    return 1;
}
#endif

MODEL_ANY_CPU
uint32_t model_model_id(void)
{
    return MODEL_MODEL_ID;
}

static MODEL_APART int model_run_checked(void *arena, const float *x, float *conv)
{
  if (x == NULL || conv == NULL)
  {
    return MODEL_ERROR_NULL;
  }
  (void)arena;
  /* layer 0: conv 3x3: f32[1,6,6,8] -> f32[1,4,4,16]
     layer */
  model_conv_0(model_c_0, model_w_0, x, conv);
  return MODEL_OK;
}

MODEL_ANY_CPU int model_run(void *arena, const float *x, float *conv)
{
  if (!model_cpu_fits())
  {
    return MODEL_ERROR_CPU;
  }
  return model_run_checked(arena, x, conv);
}
