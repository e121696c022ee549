/* What a decoder layer of the Llama kind does with a few rows before and after its attention, in float32 on a CPU.
 *
 * RMS norm, projections, norms of heads and rotation; then projection, RMS norm and gated MLP, each behind a residual.
 * What comes out for a row does not depend on how many rows there are.
 */

#include <math.h>
#include <omp.h>
#include <string.h>

#include "matrix.h"
#include "vectors.h"

/* Sizes are multiples of LANES. Norms of heads are NULL where there are none. */
typedef struct {
    matrix query_key_value[3], out, gate_up[2], down;
    const float *norm, *norm_after, *query_norm, *key_norm;
    float epsilon, epsilon_after, query_epsilon, key_epsilon;
    int width, middle, size, query_heads, key_heads, rotates;
} layer;

/* to = x / root(mean of squares + epsilon) * weight; may be done in place. */
static void rms_norm(const float *x, const float *weight, float epsilon, int size, float *to) {
    vec sum = all(0.0f);
    for (int i = 0; i < size; i += LANES) sum = fused(load(x + i), load(x + i), sum);
    const float total = ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
    const float scale = 1.0f / sqrtf(total / size + epsilon);
    for (int i = 0; i < size; i += LANES) store(to + i, load(x + i) * scale * load(weight + i));
}

/* Turn a head by its position: halves (a, b) become (a cos - b sin, b cos + a sin). */
static void rotate(float *x, const float *cosine, const float *sine, int size) {
    const int half = size / 2;
    for (int i = 0; i < half; i += LANES) {
        const vec a = load(x + i), b = load(x + half + i);
        store(x + i, fused(a, load(cosine + i), -b * load(sine + i)));
        store(x + half + i, fused(b, load(cosine + half + i), a * load(sine + half + i)));
    }
}

static void norm_rows(const float *x, const float *weight, float epsilon, int size, int rows, float *to, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (rows > 1)
    for (int r = 0; r < rows; r++) rms_norm(x + (long)r * size, weight, epsilon, size, to + (long)r * size);
}

static void add(float *x, const float *y, long count) {
    for (long i = 0; i < count; i += LANES) store(x + i, load(x + i) + load(y + i));
}

/* hidden [rows, width] -> heads [rows, query heads + 2 key heads, size]: queries, keys, values, the first two at their
 * positions by cosine and sine [rows, size]. scratch: [rows, width]. */
void spsl_before_attention(const layer *of, const float *hidden, const float *cosine, const float *sine, float *heads,
                           float *scratch, int rows, int threads) {
    const int rotated = of->query_heads + of->key_heads, size = of->size;
    const long row = (long)(rotated + of->key_heads) * size;
    norm_rows(hidden, of->norm, of->epsilon, of->width, rows, scratch, threads);
    spsl_products(of->query_key_value, 3, scratch, of->width, heads, row, rows, threads);
    for (int r = 0; r < rows; r++)
        for (int h = 0; h < rotated; h++) {
            float *head = heads + r * row + (long)h * size;
            const int queries = h < of->query_heads;
            if (of->query_norm)
                rms_norm(head, queries ? of->query_norm : of->key_norm, queries ? of->query_epsilon : of->key_epsilon,
                         size, head);
            if (of->rotates) rotate(head, cosine + (long)r * size, sine + (long)r * size, size);
        }
}

/* hidden [rows, width] and what the attention gave [rows, query heads * size] -> out [rows, width].
 * scratch: [rows, width + 2 middle]. */
void spsl_after_attention(const layer *of, const float *hidden, const float *attended, float *out, float *scratch,
                          int rows, int threads) {
    const long width = of->width, middle = of->middle, all_of = width * rows;
    float *gates = scratch + all_of;
    spsl_products(&of->out, 1, attended, (long)of->query_heads * of->size, out, width, rows, threads);
    add(out, hidden, all_of);
    norm_rows(out, of->norm_after, of->epsilon_after, of->width, rows, scratch, threads);
    spsl_products(of->gate_up, 2, scratch, width, gates, 2 * middle, rows, threads);
#pragma omp parallel for schedule(static) num_threads(threads) if (rows > 1)
    for (int r = 0; r < rows; r++)
        for (long i = 0; i < middle; i += LANES) {
            float *gate = gates + r * 2 * middle + i;
            const vec x = load(gate);
            store(gate, x / (1.0f + exponential(-x)) * load(gate + middle));
        }
    spsl_products(&of->down, 1, gates, 2 * middle, scratch, width, rows, threads);
    add(out, scratch, all_of);
}
