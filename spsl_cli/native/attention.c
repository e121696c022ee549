/* Attention of a few query rows over many keys, and their attention mass, in float32 on a CPU.
 *
 * Keys are cut into blocks of BLOCK, worked on in parallel; each block gives, for every query row, the largest score, the
 * sum of exponentials and the weighted sum of values, and blocks are merged in their order. Nothing that is computed for
 * a row depends on how many other rows there are: a row of a verify comes out bit for bit as in a step of its own.
 *
 * Plain C with vector extensions (GCC 12 and later, Clang) and OpenMP. Sizes: head size a multiple of 8.
 */

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

#define BLOCK 256

/* Element i of the result is the sum of a[i]. */
static inline vec sums(const vec a[LANES]) {
    vec b[4], c[2];
    for (int i = 0; i < 4; i++)
        b[i] = __builtin_shufflevector(a[2 * i], a[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(a[2 * i], a[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    for (int i = 0; i < 2; i++)
        c[i] = __builtin_shufflevector(b[2 * i], b[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
               __builtin_shufflevector(b[2 * i], b[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(c[0], c[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(c[0], c[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

/* scores[r * BLOCK + j] = query row r . key j, of `rows` rows [rows, size] and `count` keys (a last one repeated). */
static void score(const float *query, int rows, int size, const float *keys, long stride, int count, float *scores) {
    for (int j = 0; j < count; j += LANES) {
        const float *key[LANES];
        for (int i = 0; i < LANES; i++) key[i] = keys + stride * (j + i < count ? j + i : count - 1);
        for (int r = 0; r < rows; r++) {
            const float *row = query + (long)r * size;
            vec sum[LANES];
            vec part = load(row);
            for (int i = 0; i < LANES; i++) sum[i] = part * load(key[i]);
            for (int d = LANES; d < size; d += LANES) {
                part = load(row + d);
                for (int i = 0; i < LANES; i++) sum[i] = fused(part, load(key[i] + d), sum[i]);
            }
            store(scores + (long)r * BLOCK + j, sums(sum));
        }
    }
}

/* out[r] += sum over j of weights[r * BLOCK + j] * value j, for ROWS rows and a part of WIDTH * 8 of the head size. */
#define ADD_VALUES(NAME, ROWS, WIDTH)                                                                             \
    static inline void NAME(const float *weights, const float *values, long stride, int count, float *out, int size) { \
        vec sum[ROWS][WIDTH];                                                                                     \
        for (int r = 0; r < ROWS; r++)                                                                            \
            for (int d = 0; d < WIDTH; d++) sum[r][d] = all(0.0f);                                                \
        for (int j = 0; j < count; j++) {                                                                         \
            vec value[WIDTH];                                                                                     \
            for (int d = 0; d < WIDTH; d++) value[d] = load(values + stride * j + d * LANES);                     \
            for (int r = 0; r < ROWS; r++) {                                                                      \
                vec weight = all(weights[r * BLOCK + j]);                                                         \
                for (int d = 0; d < WIDTH; d++) sum[r][d] = fused(weight, value[d], sum[r][d]);                   \
            }                                                                                                     \
        }                                                                                                         \
        for (int r = 0; r < ROWS; r++)                                                                            \
            for (int d = 0; d < WIDTH; d++) store(out + (long)r * size + d * LANES, sum[r][d]);                   \
    }
ADD_VALUES(add_3_4, 3, 4)
ADD_VALUES(add_1_4, 1, 4)
ADD_VALUES(add_3_1, 3, 1)
ADD_VALUES(add_1_1, 1, 1)

static void weigh(const float *weights, int rows, const float *values, long stride, int count, int size, float *out) {
    int d = 0;
    for (; d + 32 <= size; d += 32) {
        int r = 0;
        for (; r + 3 <= rows; r += 3)
            add_3_4(weights + (long)r * BLOCK, values + d, stride, count, out + (long)r * size + d, size);
        for (; r < rows; r++)
            add_1_4(weights + (long)r * BLOCK, values + d, stride, count, out + (long)r * size + d, size);
    }
    for (; d < size; d += LANES) {
        int r = 0;
        for (; r + 3 <= rows; r += 3)
            add_3_1(weights + (long)r * BLOCK, values + d, stride, count, out + (long)r * size + d, size);
        for (; r < rows; r++)
            add_1_1(weights + (long)r * BLOCK, values + d, stride, count, out + (long)r * size + d, size);
    }
}

/* Scores become exp(score - largest) where first <= j < last, 0 elsewhere; returns their sum, and the largest score. */
static float normalise(float *scores, int first, int last, int count, float *largest) {
    *largest = -INFINITY;
    for (int j = first; j < last; j++) *largest = scores[j] > *largest ? scores[j] : *largest;
    for (int j = 0; j < first; j++) scores[j] = -INFINITY;
    for (int j = last; j < (count + LANES - 1) / LANES * LANES; j++) scores[j] = -INFINITY;
    if (first >= last) {
        memset(scores, 0, sizeof(float) * count);
        return 0.0f;
    }
    vec sum = all(0.0f);
    for (int j = 0; j < count; j += LANES) {
        vec weight = exponential(load(scores + j) - *largest);
        store(scores + j, weight);
        sum += weight;
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static inline int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

/* A few query rows over all keys of every KV head: what both kernels prepare, and cut into blocks of keys. */
typedef struct {
    float *queries; /* [Hkv, packed, size], times the scale; row g * rows + i is head g of the group at position i */
    float *scratch; /* for every thread [packed, BLOCK] */
    const float *keys;
    long key_head, key_row;
    int packed, size, key_count, blocks;
} job;

/* Returns 0, or 1 if there is no memory. */
static int prepare(job *work, const float *query, long query_head, long query_row, const float *keys, long key_head,
                   long key_row, int kv_heads, int groups, int rows, int key_count, int size, float scale, int threads) {
    const int packed = groups * rows;
    *work = (job){.keys = keys, .key_head = key_head, .key_row = key_row, .packed = packed, .size = size,
                  .key_count = key_count, .blocks = (key_count + BLOCK - 1) / BLOCK};
    work->queries = malloc(sizeof(float) * kv_heads * packed * size);
    work->scratch = malloc(sizeof(float) * threads * packed * BLOCK);
    if (!work->queries || !work->scratch) return 1;
    float *to = work->queries;
    for (int head = 0; head < kv_heads * groups; head++)
        for (int i = 0; i < rows; i++)
            for (int d = 0; d < size; d++) *to++ = query[head * query_head + i * query_row + d] * scale;
    return 0;
}

static void finish(job *work) { free(work->queries), free(work->scratch); }

/* Scores [packed, BLOCK] of the rows of KV head h on the keys from `start` on, `count` of them: item `item` of the job. */
static void scores_of(const job *work, int item, float *scores, int *h, int *start, int *count) {
    *h = item / work->blocks, *start = item % work->blocks * BLOCK;
    *count = work->key_count - *start < BLOCK ? work->key_count - *start : BLOCK;
    score(work->queries + (long)*h * work->packed * work->size, work->packed, work->size,
          work->keys + *h * work->key_head + *start * work->key_row, work->key_row, *count, scores);
}

/* Where the weights [packed, BLOCK] of a block are: kept for every item of the job, or one place for each thread. */
static float *weights_of(const job *work, float *kept, int item) {
    const long size = (long)work->packed * BLOCK;
    return kept ? kept + item * size : work->scratch + omp_get_thread_num() * size;
}

/* What a block of keys contributes: for every row the weighted values [packed, size], the largest score and the sum of
 * exponentials. */
typedef struct {
    float *values, *largest, *total;
} part;

static part part_of(float *parts, const job *work, int item) {
    float *values = parts + (long)item * work->packed * (work->size + 2);
    return (part){values, values + (long)work->packed * work->size, values + (long)work->packed * (work->size + 1)};
}

/* Merge the blocks of row r of KV head h: its attention to `to`; returns its log-sum-exp. */
static float merge(float *parts, const job *work, int h, int r, float *to) {
    float most = -INFINITY, total = 0.0f;
    for (int b = 0; b < work->blocks; b++) {
        const float largest = part_of(parts, work, h * work->blocks + b).largest[r];
        most = largest > most ? largest : most;
    }
    memset(to, 0, sizeof(float) * work->size);
    for (int b = 0; b < work->blocks; b++) {
        const part of = part_of(parts, work, h * work->blocks + b);
        const float share = expf(of.largest[r] - most);
        if (share == 0.0f) continue;
        total += share * of.total[r];
        for (int d = 0; d < work->size; d++) to[d] += share * of.values[(long)r * work->size + d];
    }
    for (int d = 0; d < work->size; d++) to[d] /= total;
    return most + logf(total);
}

/* The attention mass on a block of keys, out of the weights that are kept: see spsl_attend. */
static void mass_of(const job *work, const float *weights, part of, const float *lse, int item, int kv_heads, int groups,
                    int rows, int per_query_head, float *mass) {
    const int h = item / work->blocks, start = item % work->blocks * BLOCK;
    const int count = work->key_count - start < BLOCK ? work->key_count - start : BLOCK;
    const int heads = per_query_head ? kv_heads * groups : kv_heads;
    for (int i = 0; i < rows; i++)
        for (int g = 0; g < groups; g++) {
            const int r = g * rows + i, head = per_query_head ? h * groups + g : h, adds = g && !per_query_head;
            float *to = mass + ((long)i * heads + head) * work->key_count + start;
            const float *from = weights + (long)r * BLOCK;
            const float share = expf(of.largest[r] - lse[((long)h * groups + g) * rows + i]);
            for (int j = 0; j < count; j++) to[j] = (adds ? to[j] : 0.0f) + from[j] * share;
        }
}

/* Attention of [Hkv * groups, rows, size] queries, the last `rows` of the first `keys - beyond` keys, each seeing itself
 * and what is before it, at most `window` of them (0: all). Strides in floats. out: [rows, Hkv * groups, size];
 * lse: [Hkv, groups, rows]. mass: NULL, or the attention mass of every query on every key, [rows, Hkv, keys], the query
 * heads of a KV head added up, or [rows, Hkv * groups, keys] if `per_query_head`. Returns 0, or 1 if there is no memory. */
int spsl_attend(const float *query, long query_head, long query_row, const float *keys, long key_head, long key_row,
                const float *values, long value_head, long value_row, float *out, float *lse, float *mass, int kv_heads,
                int groups, int rows, int key_count, int beyond, int window, int size, float scale, int per_query_head,
                int threads) {
    job work;
    int failed = prepare(&work, query, query_head, query_row, keys, key_head, key_row, kv_heads, groups, rows, key_count,
                         size, scale, threads);
    const int packed = work.packed, items = kv_heads * work.blocks;
    float *parts = failed ? NULL : malloc(sizeof(float) * items * packed * (size + 2));
    float *kept = failed || !mass ? NULL : malloc(sizeof(float) * items * packed * BLOCK);
    if (!parts || (mass && !kept)) {
        free(parts), free(kept), finish(&work);
        return 1;
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int item = 0; item < items; item++) {
        int h, start, count;
        float *scores = weights_of(&work, kept, item);
        scores_of(&work, item, scores, &h, &start, &count);
        const part of = part_of(parts, &work, item);
        for (int r = 0; r < packed; r++) {
            const int end = key_count - beyond - rows + 1 + r % rows;
            const int first = window && end > window ? end - window : 0;
            of.total[r] = normalise(scores + (long)r * BLOCK, clamp(first - start, 0, count), clamp(end - start, 0, count),
                                    count, of.largest + r);
        }
        weigh(scores, packed, values + h * value_head + start * value_row, value_row, count, size, of.values);
    }
    for (int h = 0; h < kv_heads; h++)
        for (int r = 0; r < packed; r++)
            lse[((long)h * groups + r / rows) * rows + r % rows] =
                merge(parts, &work, h, r, out + (long)(r % rows) * kv_heads * groups * size + (long)(h * groups + r / rows) * size);
    if (mass) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int item = 0; item < items; item++)
            mass_of(&work, weights_of(&work, kept, item), part_of(parts, &work, item), lse, item, kv_heads, groups, rows,
                    per_query_head, mass);
    }
    free(parts), free(kept), finish(&work);
    return 0;
}

/* Attention mass of [Hkv * groups, rows, size] queries with these log-sum-exps [Hkv, groups, rows] on every key, the
 * queries the last of them. mass: [rows, Hkv, keys], the query heads of a KV head added up, or [rows, Hkv * groups,
 * keys] if `per_query_head`. Returns 0, or 1 if there is no memory. */
int spsl_mass(const float *query, long query_head, long query_row, const float *lse, const float *keys, long key_head,
              long key_row, float *mass, int kv_heads, int groups, int rows, int key_count, int size, float scale,
              int per_query_head, int threads) {
    job work;
    if (prepare(&work, query, query_head, query_row, keys, key_head, key_row, kv_heads, groups, rows, key_count, size,
                scale, threads)) {
        finish(&work);
        return 1;
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int item = 0; item < kv_heads * work.blocks; item++) {
        int h, start, count;
        float *scores = weights_of(&work, NULL, item);
        scores_of(&work, item, scores, &h, &start, &count);
        for (int i = 0; i < rows; i++)
            for (int g = 0; g < groups; g++) {
                const int heads = per_query_head ? kv_heads * groups : kv_heads;
                const int head = per_query_head ? h * groups + g : h;
                float *to = mass + ((long)i * heads + head) * key_count + start;
                float *of = scores + ((long)g * rows + i) * BLOCK;
                const float shift = lse[((long)h * groups + g) * rows + i];
                const int seen = clamp(key_count - rows + 1 + i - start, 0, count), adds = g && !per_query_head;
                for (int j = 0; j < count; j += LANES) store(of + j, exponential(load(of + j) - shift));
                for (int j = 0; j < count; j++) to[j] = (adds ? to[j] : 0.0f) + (j < seen ? of[j] : 0.0f);
            }
    }
    finish(&work);
    return 0;
}
