/* From importance to a sparse view, on a CPU: a decayed sum of attention mass, its largest entries, and their rows. */

#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

/* total [heads, keys] takes in `rows` rows of mass, oldest first, each of which makes what was there before it less by
 * `decay`. total has a row of total_head floats for each head, mass [rows, heads, keys] such strides. */
void spsl_decayed_sum(float *total, long total_head, const float *mass, long mass_row, long mass_head, int rows,
                      int heads, int keys, float decay, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int h = 0; h < heads; h++) {
        float *to = total + h * total_head;
        const float *from = mass + h * mass_head;
        for (int j = 0; j < keys; j++) {
            float sum = to[j];
            for (int r = 0; r < rows; r++) sum = sum * decay + from[r * mass_row + j];
            to[j] = sum;
        }
    }
}

#define DIGITS 11 /* bits looked at a time, from the top */

/* As whole numbers of the same order. */
static inline uint32_t ordered(float score) {
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/* The `count`-th largest of `size` scores, as a whole number, and how many of those equal to it belong to them. Digit by
 * digit, after the first one only of those that have it; `left` is scratch for `size` of them. */
static uint32_t threshold(const float *scores, int size, int count, uint32_t *left, int *equal) {
    uint32_t found = 0;
    for (int shift = 32 - DIGITS, first = 1;; shift = shift > DIGITS ? shift - DIGITS : 0, first = 0) {
        const uint32_t mask = shift ? (1u << DIGITS) - 1 : (1u << (32 - 2 * DIGITS)) - 1;
        int of_digit[1 << DIGITS] = {0}, digit = (int)mask, kept = 0;
        for (int j = 0; j < size; j++) of_digit[((first ? ordered(scores[j]) : left[j]) >> shift) & mask]++;
        while (of_digit[digit] < count) count -= of_digit[digit--];
        found |= (uint32_t)digit << shift;
        if (!shift) break;
        for (int j = 0; j < size; j++) {
            const uint32_t bits = first ? ordered(scores[j]) : left[j];
            left[kept] = bits;
            kept += ((bits >> shift) & mask) == (uint32_t)digit;
        }
        size = kept;
    }
    *equal = count;
    return found;
}

/* positions [heads, count]: of each row of scores the `count` largest, in ascending order; of equal ones the first.
 * Returns 0, or 1 if there is no memory. */
int spsl_largest(const float *scores, long scores_head, int heads, int size, int count, int64_t *positions,
                 long positions_head, int offset, int threads) {
    if (!count) return 0;
    uint32_t *scratch = malloc(sizeof(uint32_t) * heads * size);
    if (!scratch) return 1;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int h = 0; h < heads; h++) {
        const float *of = scores + h * scores_head;
        int64_t *to = positions + h * positions_head;
        int equal;
        const uint32_t least = threshold(of, size, count, scratch + (long)h * size, &equal);
        for (int j = 0, n = 0; j < size && n < count; j++) {
            const uint32_t bits = ordered(of[j]);
            const int chosen = bits > least || (bits == least && equal-- > 0);
            to[n] = j + offset;
            n += chosen;
        }
    }
    free(scratch);
    return 0;
}

/* Make slots [slots, heads] of a view hold the rows at positions [heads, count] of dense keys and values.
 *
 * held [heads, room]: which position each slot holds already, `before` of them; those that stay are left where they are,
 * in any order. Rows of `size` floats; strides of heads and rows in floats; a slot's heads lie side by side. Head h of the
 * view has the rows of dense head h / share. Returns 0, or 1 if there is no memory. */
int spsl_gather(const float *keys, const float *values, long dense_head, long dense_row, float *view_keys,
                float *view_values, int heads, int share, int size, const int64_t *positions, int count, int64_t *held,
                int room, int before, int length, int threads) {
    uint8_t *wanted = calloc((size_t)heads, length);
    if (!wanted) return 1;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int h = 0; h < heads; h++) {
        const int64_t *want = positions + (long)h * count;
        int64_t *holds = held + (long)h * room;
        uint8_t *missing = wanted + (size_t)h * length;
        for (int i = 0; i < count; i++) missing[want[i]] = 1;
        int kept = before < count ? before : count;
        for (int s = 0; s < kept; s++) {
            const int stays = holds[s] < length && missing[holds[s]];
            if (stays)
                missing[holds[s]] = 0;
            else
                holds[s] = -1;
        }
        for (int i = 0, s = 0; i < count; i++) {
            if (!missing[want[i]]) continue;
            while (s < kept && holds[s] >= 0) s++;
            const long from = (long)(h / share) * dense_head + want[i] * dense_row, to = ((long)s * heads + h) * size;
            memcpy(view_keys + to, keys + from, sizeof(float) * size);
            memcpy(view_values + to, values + from, sizeof(float) * size);
            holds[s++] = want[i];
        }
    }
    free(wanted);
    return 0;
}
