/* Products of a few float32 rows with weights of 32, 16, 8 or 4 bits, on a CPU.
 *
 * Weights of 32 bits are float32, of 16 bits bfloat16. One of fewer bits is a small whole number times the scale of its
 * group of GROUP weights along the input; of 4 bits, plus the group's least weight. It is turned into float32 in a
 * register and multiplied there, so a product reads no more memory than the weights take as they are kept. Every output
 * of every row is summed in the same order however many rows there are: a row of a verify comes out bit for bit as in a
 * step of its own.
 */

#include <omp.h>
#include <stdint.h>
#include <string.h>

#include "matrix.h"
#include "vectors.h"

#define OUTPUTS 4 /* a thread's share at a time */
#define ROWS 6    /* worked on side by side at most, so that a weight is turned into float32 once for all of them */

/* Eight bytes, with their sign or without, or eight pairs of them, as whole numbers. Left to the compiler, this is done one by one. */
static inline ints signed_bytes(const uint8_t *from) {
#ifdef __AVX2__
    return (ints)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)from));
#else
    return (ints){(int8_t)from[0], (int8_t)from[1], (int8_t)from[2], (int8_t)from[3],
                  (int8_t)from[4], (int8_t)from[5], (int8_t)from[6], (int8_t)from[7]};
#endif
}

static inline ints plain_bytes(const uint8_t *from) {
#ifdef __AVX2__
    return (ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from));
#else
    return (ints){from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7]};
#endif
}

static inline ints two_bytes(const uint8_t *from) {
#ifdef __AVX2__
    return (ints)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from));
#else
    uint16_t x[LANES];
    memcpy(x, from, sizeof x);
    return (ints){x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
#endif
}

static inline vec in_floats(ints x) { return __builtin_convertvector(x, vec); }

/* The four parts of a group of 8-bit weights, of eight weights each, in their order. */
static inline void eight_bits(const uint8_t *group, float scale, const float *least, vec part[GROUP / LANES]) {
    (void)least;
    for (int i = 0; i < GROUP / LANES; i++) part[i] = in_floats(signed_bytes(group + i * LANES)) * scale;
}

/* The same of 4-bit weights: byte i holds weight i below and weight i + 16 above. */
static inline void four_bits(const uint8_t *group, float scale, const float *least, vec part[GROUP / LANES]) {
    for (int i = 0; i < 2; i++) {
        const ints both = plain_bytes(group + i * LANES);
        part[i] = fused(in_floats(both & 15), all(scale), all(*least));
        part[i + 2] = fused(in_floats(both >> 4), all(scale), all(*least));
    }
}

/* The same of bfloat16, the upper half of a float32, and of float32. */
static inline void sixteen_bits(const uint8_t *group, float scale, const float *least, vec part[GROUP / LANES]) {
    (void)scale, (void)least;
    for (int i = 0; i < GROUP / LANES; i++) part[i] = (vec)(two_bytes(group + i * 2 * LANES) << 16);
}

static inline void thirty_two_bits(const uint8_t *group, float scale, const float *least, vec part[GROUP / LANES]) {
    (void)scale, (void)least;
    for (int i = 0; i < GROUP / LANES; i++) part[i] = load((const float *)group + i * LANES);
}

static inline float sum_of(vec x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }

/* y[r, o] = x[r] . weight o, for outputs of the next `outs` and of `rows` rows. */
#define PRODUCT(NAME, WEIGHTS, BYTES, OUTS, COUNT)                                                                    \
    static inline void NAME(const uint8_t *weights, const float *scales, const float *least, long groups,             \
                            const float *x, long x_row, float *y, long y_row, const float *bias) {                    \
        vec sum[COUNT][OUTS];                                                                                         \
        for (int r = 0; r < COUNT; r++)                                                                               \
            for (int o = 0; o < OUTS; o++) sum[r][o] = (vec){0};                                                      \
        for (long g = 0; g < groups; g++)                                                                             \
            for (int o = 0; o < OUTS; o++) {                                                                          \
                const long at = o * groups + g;                                                                       \
                vec part[GROUP / LANES];                                                                              \
                WEIGHTS(weights + at * BYTES, BYTES > GROUP ? 1 : scales[at], least + at, part);                      \
                for (int i = 0; i < GROUP / LANES; i++)                                                               \
                    for (int r = 0; r < COUNT; r++)                                                                   \
                        sum[r][o] = fused(part[i], load(x + r * x_row + g * GROUP + i * LANES), sum[r][o]);           \
            }                                                                                                         \
        for (int r = 0; r < COUNT; r++)                                                                               \
            for (int o = 0; o < OUTS; o++) y[r * y_row + o] = sum_of(sum[r][o]) + (bias ? bias[o] : 0.0f);            \
    }
/* Sixteen registers hold the sums of four outputs and three rows, or of two and six. */
#define PRODUCTS(NAME, WEIGHTS, BYTES)                                                            \
    PRODUCT(NAME##_4_1, WEIGHTS, BYTES, 4, 1)                                                     \
    PRODUCT(NAME##_4_2, WEIGHTS, BYTES, 4, 2)                                                     \
    PRODUCT(NAME##_4_3, WEIGHTS, BYTES, 4, 3)                                                     \
    PRODUCT(NAME##_2_4, WEIGHTS, BYTES, 2, 4)                                                     \
    PRODUCT(NAME##_2_5, WEIGHTS, BYTES, 2, 5)                                                     \
    PRODUCT(NAME##_2_6, WEIGHTS, BYTES, 2, 6)                                                     \
    PRODUCT(NAME##_1_1, WEIGHTS, BYTES, 1, 1)                                                     \
    PRODUCT(NAME##_1_2, WEIGHTS, BYTES, 1, 2)                                                     \
    PRODUCT(NAME##_1_3, WEIGHTS, BYTES, 1, 3)                                                     \
    PRODUCT(NAME##_1_4, WEIGHTS, BYTES, 1, 4)                                                     \
    PRODUCT(NAME##_1_5, WEIGHTS, BYTES, 1, 5)                                                     \
    PRODUCT(NAME##_1_6, WEIGHTS, BYTES, 1, 6)                                                     \
    static product *const NAME[2][ROWS] = {                                                       \
        {NAME##_1_1, NAME##_1_2, NAME##_1_3, NAME##_1_4, NAME##_1_5, NAME##_1_6},                 \
        {NAME##_4_1, NAME##_4_2, NAME##_4_3, NAME##_2_4, NAME##_2_5, NAME##_2_6},                 \
    };
typedef void product(const uint8_t *, const float *, const float *, long, const float *, long, float *, long,
                     const float *);
PRODUCTS(of_32, thirty_two_bits, 128)
PRODUCTS(of_16, sixteen_bits, 64)
PRODUCTS(of_8, eight_bits, 32)
PRODUCTS(of_4, four_bits, 16)
static const int side_by_side[ROWS] = {4, 4, 4, 2, 2, 2};

static int tiles_of(const matrix *of) { return (of->outputs + OUTPUTS - 1) / OUTPUTS; }

/* Outputs of one tile of one matrix, for all rows. */
static void tile_of(const matrix *of, int tile, const float *x, long x_row, float *y, long y_row, int rows) {
    const long groups = of->inputs / GROUP, size = groups * GROUP * of->bits / 8;
    const int end = (tile + 1) * OUTPUTS < of->outputs ? (tile + 1) * OUTPUTS : of->outputs;
    for (int first = 0, left = rows, count; left; first += count, left -= count) {
        const int times = (left + ROWS - 1) / ROWS;
        count = (left + times - 1) / times; /* equal shares */
        for (int o = tile * OUTPUTS, wide; o < end; o += wide) {
            wide = o + side_by_side[count - 1] <= end ? side_by_side[count - 1] : 1;
            product *const *kernel = of->bits == 4    ? of_4[wide > 1]
                                     : of->bits == 8  ? of_8[wide > 1]
                                     : of->bits == 16 ? of_16[wide > 1]
                                                      : of_32[wide > 1];
            kernel[count - 1](of->numbers + o * size, of->scale + o * groups, of->least + o * groups, groups,
                              x + first * x_row, x_row, y + first * y_row + o, y_row, of->bias ? of->bias + o : NULL);
        }
    }
}

void spsl_products(const matrix *of, int count, const float *x, long x_row, float *y, long y_row, int rows, int threads) {
    int tiles = 0;
    for (int m = 0; m < count; m++) tiles += tiles_of(of + m);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < tiles; i++) {
        const matrix *one = of;
        int tile = i, first = 0;
        for (; tile >= tiles_of(one); one++) tile -= tiles_of(one), first += one->outputs;
        tile_of(one, tile, x, x_row, y + first, y_row, rows);
    }
}

/* The float32 weights [outputs, inputs] that these stand for. */
void spsl_dequantize(const uint8_t *weights, const float *scales, const float *least, float *to, long groups, int bits,
                     int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (long g = 0; g < groups; g++) {
        vec part[GROUP / LANES];
        if (bits == 8)
            eight_bits(weights + g * GROUP, scales[g], least + g, part);
        else
            four_bits(weights + g * GROUP / 2, scales[g], least + g, part);
        for (int i = 0; i < GROUP / LANES; i++) store(to + g * GROUP + i * LANES, part[i]);
    }
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
