/* Products of a few float32 rows with weights of 8 or 4 bits, on a CPU.
 *
 * A weight is a small whole number times the scale of its group of GROUP weights along the input; of 4 bits, plus the
 * group's least weight. It is turned into float32 in a register and multiplied there, so a product reads a fifth to a
 * quarter of the memory that float32 weights take. Every output of every row is summed in the same order however many rows there are: a row of a verify
 * comes out bit for bit as in a step of its own.
 */

#include <omp.h>
#include <stdint.h>
#include <string.h>

#include "vectors.h"

#define GROUP 32
#define OUTPUTS 4 /* worked on side by side, so that a row's values are loaded once for all of them */
#define ROWS 3    /* likewise, so that a weight is turned into float32 once for all of them */

typedef int8_t bytes __attribute__((vector_size(8)));
typedef uint8_t pairs __attribute__((vector_size(8)));

/* Weights part * 8 .. part * 8 + 7 of a group of 8-bit weights. */
static inline vec eight_bits(const uint8_t *group, int part, float scale, const float *least) {
    bytes few;
    memcpy(&few, group + part * LANES, sizeof few);
    (void)least;
    return __builtin_convertvector(__builtin_convertvector(few, ints), vec) * scale;
}

/* The same of 4-bit weights: byte i holds weight i below and weight i + 16 above. */
static inline vec four_bits(const uint8_t *group, int part, float scale, const float *least) {
    pairs few;
    memcpy(&few, group + part % 2 * LANES, sizeof few);
    const ints both = __builtin_convertvector(few, ints);
    return fused(__builtin_convertvector(part < 2 ? both & 15 : both >> 4, vec), all(scale), all(*least));
}

static inline float sum_of(vec x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }

/* y[r, o] = x[r] . weight o, for outputs of the next `outs` and of `rows` rows. */
#define PRODUCT(NAME, WEIGHTS, BYTES, OUTS, COUNT)                                                                    \
    static inline void NAME(const uint8_t *weights, const float *scales, const float *least, long groups,             \
                            const float *x, long x_row, float *y, long y_row, const float *bias) {                                                \
        vec sum[COUNT][OUTS];                                                                                         \
        for (int r = 0; r < COUNT; r++)                                                                               \
            for (int o = 0; o < OUTS; o++) sum[r][o] = (vec){0};                                                      \
        for (long g = 0; g < groups; g++)                                                                             \
            for (int part = 0; part < GROUP / LANES; part++) {                                                        \
                vec row[COUNT];                                                                                       \
                for (int r = 0; r < COUNT; r++)                                                                       \
                    row[r] = load(x + r * x_row + g * GROUP + part * LANES);                     \
                for (int o = 0; o < OUTS; o++) {                                                                      \
                    const long at = o * groups + g;                                                                   \
                    const vec weight = WEIGHTS(weights + at * BYTES, part, scales[at], least + at);                   \
                    for (int r = 0; r < COUNT; r++) sum[r][o] = fused(weight, row[r], sum[r][o]);                                    \
                }                                                                                                     \
            }                                                                                                         \
        for (int r = 0; r < COUNT; r++)                                                                               \
            for (int o = 0; o < OUTS; o++) y[r * y_row + o] = sum_of(sum[r][o]) + (bias ? bias[o] : 0.0f);            \
    }
#define PRODUCTS(NAME, WEIGHTS, BYTES)        \
    PRODUCT(NAME##_4_3, WEIGHTS, BYTES, 4, 3) \
    PRODUCT(NAME##_4_2, WEIGHTS, BYTES, 4, 2) \
    PRODUCT(NAME##_4_1, WEIGHTS, BYTES, 4, 1) \
    PRODUCT(NAME##_1_3, WEIGHTS, BYTES, 1, 3) \
    PRODUCT(NAME##_1_2, WEIGHTS, BYTES, 1, 2) \
    PRODUCT(NAME##_1_1, WEIGHTS, BYTES, 1, 1)
PRODUCTS(of_8, eight_bits, 32)
PRODUCTS(of_4, four_bits, 16)

typedef void product(const uint8_t *, const float *, const float *, long, const float *, long, float *, long,
                     const float *);
static product *const kernels[2][2][ROWS] = {
    {{of_4_1_1, of_4_1_2, of_4_1_3}, {of_4_4_1, of_4_4_2, of_4_4_3}},
    {{of_8_1_1, of_8_1_2, of_8_1_3}, {of_8_4_1, of_8_4_2, of_8_4_3}},
};

/* y[r * y_row + o] = x[r * x_row] . weight o + bias[o]: x [rows, inputs], weights [outputs, inputs] of `bits` bits (8 or
 * 4), scales and, of 4 bits, least weights [outputs, inputs / GROUP], bias [outputs] or NULL. `inputs` is a multiple of
 * GROUP. Strides in floats. */
void spsl_product(const uint8_t *weights, const float *scales, const float *least, const float *bias, const float *x,
                  long x_row, float *y, long y_row, int outputs, int inputs, int rows, int bits, int threads) {
    const long groups = inputs / GROUP, size = groups * GROUP * bits / 8;
    const int tiles = (outputs + OUTPUTS - 1) / OUTPUTS;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int tile = 0; tile < tiles; tile++)
        for (int first = 0; first < rows; first += ROWS) {
            const int count = rows - first < ROWS ? rows - first : ROWS;
            const int begin = tile * OUTPUTS, end = begin + OUTPUTS < outputs ? begin + OUTPUTS : outputs;
            const int whole = end - begin == OUTPUTS;
            for (int o = begin; o < end; o += whole ? OUTPUTS : 1)
                kernels[bits == 8][whole][count - 1](weights + o * size, scales + o * groups, least + o * groups,
                                                     groups, x + first * x_row, x_row, y + first * y_row + o, y_row,
                                                     bias ? bias + o : NULL);
        }
}

/* The float32 weights [outputs, inputs] that these stand for. */
void spsl_dequantize(const uint8_t *weights, const float *scales, const float *least, float *to, long groups, int bits,
                     int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (long g = 0; g < groups; g++)
        for (int part = 0; part < GROUP / LANES; part++)
            store(to + g * GROUP + part * LANES,
                  bits == 8 ? eight_bits(weights + g * GROUP, part, scales[g], least + g)
                            : four_bits(weights + g * GROUP / 2, part, scales[g], least + g));
}

/* In float16, as files keep scales, unless that is too coarse. */
static inline float as_in_files(float x) {
    const float size = x < 0 ? -x : x;
    return size < 6.103515625e-05f ? x : (float)(_Float16)x;
}

/* The least and the greatest of a group. */
static inline void ends_of(const vec part[GROUP / LANES], float *least, float *most) {
    vec low = part[0], high = part[0];
    for (int i = 1; i < GROUP / LANES; i++) {
        low = choose(part[i] < low, part[i], low);
        high = choose(part[i] > high, part[i], high);
    }
    *least = low[0], *most = high[0];
    for (int i = 1; i < LANES; i++) {
        *least = low[i] < *least ? low[i] : *least;
        *most = high[i] > *most ? high[i] : *most;
    }
}

/* The numbers, scales and least weights nearest to float32 weights. Returns whether they stand for them exactly. */
int spsl_quantize(const float *weights, uint8_t *numbers, float *scales, float *least, long groups, int bits,
                  int threads) {
    int exact = 1;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(& : exact)
    for (long g = 0; g < groups; g++) {
        vec part[GROUP / LANES];
        float number[GROUP], low, high;
        for (int i = 0; i < GROUP / LANES; i++) part[i] = load(weights + g * GROUP + i * LANES);
        ends_of(part, &low, &high);
        const float greatest = -low > high ? -low : high;
        const float scale = bits == 8 ? greatest / 127 : as_in_files((high - low) / 15);
        low = bits == 8 ? 0 : as_in_files(low);
        for (int i = 0; i < GROUP / LANES; i++) {
            vec n = scale == 0 ? all(0.0f) : nearest((part[i] - low) / scale);
            if (bits == 4) n = choose(n < 0.0f, all(0.0f), choose(n > 15.0f, all(15.0f), n));
            const ints same = fused(n, all(scale), all(low)) == part[i];
            for (int j = 0; j < LANES; j++) exact &= same[j] != 0;
            store(number + i * LANES, n);
        }
        scales[g] = scale;
        if (bits == 4) least[g] = low;
        for (int i = 0; bits == 8 && i < GROUP; i++) ((int8_t *)numbers)[g * GROUP + i] = (int8_t)number[i];
        for (int i = 0; bits == 4 && i < GROUP / 2; i++)
            numbers[g * GROUP / 2 + i] = (uint8_t)number[i] | (uint8_t)((uint8_t)number[i + GROUP / 2] << 4);
    }
    return exact;
}
