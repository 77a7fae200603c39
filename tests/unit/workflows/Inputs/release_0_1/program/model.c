/* model: a neural network, emitted by qmlir as C99. It needs no library but memcpy and memmove.

   It computes the same bits everywhere, where floats are those of IEEE 754 and the compiler rounds each product before
   it adds: gcc does with -std=c99, all do with -ffp-contract=off. -ffast-math is refused.
   A loop over l is a vector: compilers unroll it. */
#include "model.h"
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0)
#error "floats must be rounded in each step: without -ffast-math, and on x86 with -msse2 -mfpmath=sse"
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the lowest byte of a number must come first"
#endif
#if !defined(__GNUC__) || defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

static inline int32_t add_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

static inline int64_t add_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static inline uint32_t bits_of_f32(float a) {
    uint32_t r;
    memcpy(&r, &a, sizeof r);
    return r;
}

static inline float f32_of(uint32_t bits) {
    float r;
    memcpy(&r, &bits, sizeof r);
    return r;
}

static inline int32_t i32_of_f32(float a) { return a >= 1073741824.0f * 2 ? (int32_t)2147483647 : a >= (-1073741824.0f * 2) ? (int32_t)a : a != a ? 0 : (int32_t)(-2147483647 - 1); }

static inline float load_f32(const float *p) {
    float r;
    memcpy(&r, p, sizeof r);
    return r;
}

static inline double load_f64(const double *p) {
    double r;
    memcpy(&r, p, sizeof r);
    return r;
}

static inline int64_t load_i64(const int64_t *p) {
    int64_t r;
    memcpy(&r, p, sizeof r);
    return r;
}

static inline float maximumf_f32(float a, float b) { return a > b ? a : a < b ? b : a == b ? f32_of(bits_of_f32(a) & bits_of_f32(b)) : a + b; }

static inline int32_t maxsi_i32(int32_t a, int32_t b) { return a > b ? a : b; }

static inline int64_t maxsi_i64(int64_t a, int64_t b) { return a > b ? a : b; }

static inline float minimumf_f32(float a, float b) { return a < b ? a : a > b ? b : a == b ? f32_of(bits_of_f32(a) | bits_of_f32(b)) : a + b; }

static inline int32_t minsi_i32(int32_t a, int32_t b) { return a < b ? a : b; }

static inline int64_t minsi_i64(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int32_t mul_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a * (uint32_t)b); }

static inline float absf_f32(float a) { return f32_of(bits_of_f32(a) & ~UINT32_C(0x80000000)); }

static inline float copysign_f32(float a, float b) { return f32_of((bits_of_f32(a) & ~UINT32_C(0x80000000)) | (bits_of_f32(b) & UINT32_C(0x80000000))); }

static inline float roundeven_f32(float a) {
    const float x = absf_f32(a), r = (x + 8388608.0f) - 8388608.0f;
    return copysign_f32(x < 8388608.0f ? r : x, a);
}

static inline int32_t shli_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a << ((uint32_t)b & 31)); }

static inline int32_t shrsi_i32(int32_t a, int32_t b) { return (int32_t)(a >> ((uint32_t)b & 31)); }

static inline void store_f32(float *p, float v) { memcpy(p, &v, sizeof v); }

static inline void store_f64(double *p, double v) { memcpy(p, &v, sizeof v); }

static inline int32_t sub_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }

/* Constants, which stand at the end. */
static const int8_t constant[48];
static const float constant_2[5];
static const int8_t constant_3[96];
static const float constant_4[4];
static const int8_t constant_5[80];

/* embed */
static void gather_2x3x6_i8(const int64_t *tokens, const int8_t *x, int8_t *x_2) {
    for (int32_t i = 0; i < 6; i++) {
        const int64_t v = load_i64(tokens + i);
        int8_t v_2[8];
        for (int32_t l = 0; l < 8; l++)
            v_2[l] = (l < 6 ? x[minsi_i64(maxsi_i64(((v < 0) ? add_i64(v, 8) : v), 0), 7)*6 + l] : 0);
        for (int32_t l = 0; l < 6; l++) x_2[i*6 + l] = v_2[l];
    }
}

/* fc1, softmax */
static void matmul_2x3x6x5_i8(const int8_t *x, const int8_t *x_2, const float *x_3, int8_t *x_4) {
    for (int32_t i = 0; i < 2; i++) {
        const int64_t v = i*3;
        const int64_t v_2 = v*6;
        int32_t sum[16];
        int32_t sum_2[16];
        int32_t sum_3[16];
        for (int32_t l = 0; l < 16; l++) {
            sum[l] = 0;
            sum_2[l] = 0;
            sum_3[l] = 0;
        }
        for (int32_t i_2 = 0; i_2 < 6; i_2++) {
            const int64_t v_4 = v_2 + i_2;
            const int8_t v_6 = x[v_4];
            const int8_t v_7 = x[v_4 + 6];
            const int8_t v_8 = x[v_4 + 12];
            for (int32_t l = 0; l < 16; l++) {
                const int8_t v_3 = x_2[i_2*16 + l];
                const int32_t v_5 = v_3;
                sum[l] = add_i32(sum[l], mul_i32(v_6, v_5));
                sum_2[l] = add_i32(sum_2[l], mul_i32(v_7, v_5));
                sum_3[l] = add_i32(sum_3[l], mul_i32(v_8, v_5));
            }
        }
        float v_9[16];
        int8_t v_10[16];
        for (int32_t l = 0; l < 16; l++) {
            v_9[l] = (l < 5 ? load_f32(x_3 + l) : 0.0f);
            v_10[l] = (int8_t)(minsi_i32(maxsi_i32(i32_of_f32(roundeven_f32((float)sum[l] * v_9[l])), -128), 127));
        }
        for (int32_t l = 0; l < 5; l++) x_4[v*5 + l] = v_10[l];
        int8_t v_11[16];
        for (int32_t l = 0; l < 16; l++)
            v_11[l] = (int8_t)(minsi_i32(maxsi_i32(i32_of_f32(roundeven_f32((float)sum_2[l] * v_9[l])), -128), 127));
        for (int32_t l = 0; l < 5; l++) x_4[v*5 + l + 5] = v_11[l];
        int8_t v_12[16];
        for (int32_t l = 0; l < 16; l++)
            v_12[l] = (int8_t)(minsi_i32(maxsi_i32(i32_of_f32(roundeven_f32((float)sum_3[l] * v_9[l])), -128), 127));
        for (int32_t l = 0; l < 5; l++) x_4[v*5 + l + 10] = v_12[l];
    }
}

/* softmax */
static void fill_2x3_f32(float *x) {
    const float v = f32_of(0xff800000u);
    for (int32_t l = 0; l < 6; l++) store_f32(x + l, v);
}

/* softmax */
static void softmax_2x3_f32(const int8_t *x, float *x_2) {
    for (int32_t i = 0; i < 6; i += 2) {
        const int64_t v = i + 1;
        const float v_2 = load_f32(x_2 + i);
        const float v_3 = load_f32(x_2 + v);
        float sum = v_2;
        float sum_2 = v_3;
        for (int32_t i_2 = 0; i_2 < 5; i_2++) {
            const int8_t v_4 = x[i*5 + i_2];
            const int8_t v_5 = x[v*5 + i_2];
            sum = maximumf_f32(sum, 0.009436119f * (float)v_4);
            sum_2 = maximumf_f32(sum_2, 0.009436119f * (float)v_5);
        }
        store_f32(x_2 + i, sum);
        store_f32(x_2 + v, sum_2);
    }
}

/* softmax */
static void softmax_2x3x5_f32(const int8_t *x, const float *x_2, float *x_3) {
    const float v = 1.2582912e+07f;
    for (int32_t i = 0; i < 6; i++) {
        const float v_2 = load_f32(x_2 + i);
        float v_17[8];
        for (int32_t l = 0; l < 8; l++) {
            const int8_t v_3 = (l < 5 ? x[i*5 + l] : 0);
            const float v_4 = (0.009436119f * (float)v_3) - v_2;
            const float v_5 = ((v_4 < -104.0f) ? -104.0f : v_4);
            const float v_6 = ((v_5 > 104.0f) ? 104.0f : v_5);
            const float v_7 = (v_6 * 1.442695f) + v;
            const float v_8 = v_7 - v;
            const float v_9 = v_6 - (v_8 * 0.6933594f);
            const float v_10 = v_8 * -0.00021219444f;
            const float v_11 = v_9 - v_10;
            const int32_t v_12 = sub_i32((int32_t)bits_of_f32(v_7), 1262485504);
            const float v_13 = ((((v_11 * 0.00019944255f) + 0.0013932686f) * v_11) + 0.008333208f) * v_11;
            const float v_14 = (v_11 * v_11) * (((((v_13 + 0.04166649f) * v_11) + 0.16666667f) * v_11) + 0.5f);
            const int32_t v_15 = shrsi_i32(v_12, 1);
            const float v_16 = (((v_14 - v_10) + v_9) + 1.0f) * f32_of((uint32_t)add_i32(shli_i32(v_15, 23), 1065353216));
            v_17[l] = v_16 * f32_of((uint32_t)add_i32(shli_i32(sub_i32(v_12, v_15), 23), 1065353216));
        }
        for (int32_t l = 0; l < 5; l++) store_f32(x_3 + i*5 + l, v_17[l]);
    }
}

/* softmax */
static void fill_2x3_f64(double *x) {
    for (int32_t l = 0; l < 6; l++) store_f64(x + l, 0.0);
}

/* softmax */
static void softmax_2x3_f64(const float *x, double *x_2) {
    for (int32_t i = 0; i < 6; i += 2) {
        const int64_t v = i + 1;
        const double v_2 = load_f64(x_2 + i);
        const double v_3 = load_f64(x_2 + v);
        double sum = v_2;
        double sum_2 = v_3;
        for (int32_t i_2 = 0; i_2 < 5; i_2++) {
            const float v_4 = load_f32(x + i*5 + i_2);
            const float v_5 = load_f32(x + v*5 + i_2);
            sum = sum + (double)v_4;
            sum_2 = sum_2 + (double)v_5;
        }
        store_f64(x_2 + i, sum);
        store_f64(x_2 + v, sum_2);
    }
}

/* softmax */
static void softmax_2x3_f32_2(const double *x, float *x_2) {
    double v[8];
    for (int32_t l = 0; l < 8; l++) v[l] = (l < 6 ? load_f64(x + l) : 0.0f);
    for (int32_t l = 0; l < 6; l++) store_f32(x_2 + l, (float)v[l]);
}

/* softmax */
static void softmax_2x3x5_i8(const float *x, const float *x_2, int8_t *x_3) {
    for (int32_t i = 0; i < 6; i++) {
        const float v = load_f32(x_2 + i);
        float v_3[8];
        for (int32_t l = 0; l < 8; l++) {
            const float v_2 = (l < 5 ? load_f32(x + i*5 + l) : 0.0f);
            v_3[l] = minimumf_f32(maximumf_f32(roundeven_f32((v_2 / v) * 128.0f), -128.0f), 127.0f);
        }
        for (int32_t l = 0; l < 5; l++) x_3[i*5 + l] = (int8_t)i32_of_f32(v_3[l]);
    }
}

/* fc2 */
static void matmul_2x3x5x4_f32(const int8_t *x, const int8_t *x_2, const float *x_3, float *x_4) {
    for (int32_t i = 0; i < 2; i++) {
        const int64_t v = i*3;
        const int64_t v_2 = v*5;
        int32_t sum[16];
        int32_t sum_2[16];
        int32_t sum_3[16];
        for (int32_t l = 0; l < 16; l++) {
            sum[l] = 0;
            sum_2[l] = 0;
            sum_3[l] = 0;
        }
        for (int32_t i_2 = 0; i_2 < 5; i_2++) {
            const int64_t v_4 = v_2 + i_2;
            const int8_t v_6 = x[v_4];
            const int8_t v_7 = x[v_4 + 5];
            const int8_t v_8 = x[v_4 + 10];
            for (int32_t l = 0; l < 16; l++) {
                const int8_t v_3 = x_2[i_2*16 + l];
                const int32_t v_5 = v_3;
                sum[l] = add_i32(sum[l], mul_i32(v_6, v_5));
                sum_2[l] = add_i32(sum_2[l], mul_i32(v_7, v_5));
                sum_3[l] = add_i32(sum_3[l], mul_i32(v_8, v_5));
            }
        }
        float v_9[16];
        int32_t v_10[16];
        for (int32_t l = 0; l < 16; l++) {
            v_9[l] = (l < 4 ? load_f32(x_3 + l) : 0.0f);
            v_10[l] = minsi_i32(maxsi_i32(i32_of_f32(roundeven_f32((float)sum[l] * v_9[l])), -128), 127);
        }
        for (int32_t l = 0; l < 4; l++) store_f32(x_4 + v*4 + l, 0.004426689f * (float)(int8_t)v_10[l]);
        int32_t v_11[16];
        for (int32_t l = 0; l < 16; l++)
            v_11[l] = minsi_i32(maxsi_i32(i32_of_f32(roundeven_f32((float)sum_2[l] * v_9[l])), -128), 127);
        for (int32_t l = 0; l < 4; l++) store_f32(x_4 + v*4 + l + 4, 0.004426689f * (float)(int8_t)v_11[l]);
        int32_t v_12[16];
        for (int32_t l = 0; l < 16; l++)
            v_12[l] = minsi_i32(maxsi_i32(i32_of_f32(roundeven_f32((float)sum_3[l] * v_9[l])), -128), 127);
        for (int32_t l = 0; l < 4; l++) store_f32(x_4 + v*4 + l + 8, 0.004426689f * (float)(int8_t)v_12[l]);
    }
}

int model_run_in(void *arena, const int64_t *tokens, float *logits) {
    int8_t *const arena_2 = (int8_t *)arena + 0;
    int8_t *const buffer = arena_2;
    gather_2x3x6_i8(tokens, constant, buffer);
    int8_t *const buffer_2 = arena_2 + 128;
    matmul_2x3x6x5_i8(buffer, constant_3, constant_2, buffer_2);
    float *const buffer_3 = (float *)(void *)(arena_2 + 192);
    fill_2x3_f32(buffer_3);
    softmax_2x3_f32(buffer_2, buffer_3);
    float *const buffer_4 = (float *)(void *)arena_2;
    softmax_2x3x5_f32(buffer_2, buffer_3, buffer_4);
    double *const buffer_5 = (double *)(void *)(arena_2 + 128);
    fill_2x3_f64(buffer_5);
    softmax_2x3_f64(buffer_4, buffer_5);
    softmax_2x3_f32_2(buffer_5, buffer_3);
    softmax_2x3x5_i8(buffer_4, buffer_3, buffer_2);
    matmul_2x3x5x4_f32(buffer_2, constant_5, constant_4, logits);
    return 0;
}

static unsigned char arena_bytes[MODEL_ARENA_BYTES + 63];

int model_run(const int64_t *tokens, float *logits) {
    void *place = arena_bytes + (uintptr_t)(64 - (uintptr_t)arena_bytes % 64) % 64;
    return model_run_in(place, tokens, logits);
}

static const int8_t constant[48] = {
7, -7, 35, 6, -29, 20, 72, 52, -39, -69, -34, 2, -127, -12, -68, -40, -30, -17, 23, 57, -7, 75, -36, 19, 50, 5, -41,
-51, -25, 12, -55, -11, -9, 30, 12, 19, -36, -7, 43, 82, -69, 83, 74, 43, 15, -17, 80, 107};

static const float constant_2[5] = {
0.011994061f, 0.01466947f, 0.005023161f, 0.008282754f, 0.011579529f};

static const int8_t constant_3[96] = {
73, 43, 34, -70, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 26, -42, 38, 25, 29, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -48, -22,
-42, -68, 73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -20, 11, -25, 92, 55, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 26, -73, 5, 40,
42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -25, 60, -127, -39, 39, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

static const float constant_4[4] = {
0.0040381025f, 0.03478296f, 0.008877679f, 0.01320344f};

static const int8_t constant_5[80] = {
11, 51, 19, -42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -83, -28, -127, 42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127, 33,
-75, 113, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -63, 40, -43, -49, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 55, 26, 16, -39, 0,
0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
