/* Eight floats at once, with the vector extensions of GCC (12 and later) and Clang. */

#ifndef SPSL_VECTORS_H
#define SPSL_VECTORS_H

#include <math.h>
#include <stdint.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

#define LANES 8

typedef float vec __attribute__((vector_size(32)));
typedef float vec_anywhere __attribute__((vector_size(32), aligned(4)));
typedef int32_t ints __attribute__((vector_size(32)));

static inline vec load(const float *from) { return *(const vec_anywhere *)from; }
static inline void store(float *to, vec x) { *(vec_anywhere *)to = x; }
static inline vec all(float x) { return (vec){x, x, x, x, x, x, x, x}; }

static inline vec choose(ints which, vec yes, vec no) { return (vec)((which & (ints)yes) | (~which & (ints)no)); }
/* The nearest whole number, the even one of two, for magnitudes below 2^22. */
static inline vec nearest(vec x) { return (x + 12582912.0f) - 12582912.0f; }

/* a * b + c, rounded once where the processor can. Asked for by name: left to the compiler, one copy of a loop may be
 * given fused operations and another not, and then a row's result depends on how many rows there are. */
static inline vec fused(vec a, vec b, vec c) {
#if defined(__FMA__) && defined(__AVX__)
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(FP_FAST_FMAF)
    for (int i = 0; i < LANES; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#else
    return a * b + c;
#endif
}

/* e^x (0 below -87, e^80 above 80), to two units in the last place: 2^n e^r, r in [-ln 2 / 2, ln 2 / 2], by its series. */
static inline vec exponential(vec x) {
    const vec lowest = all(-87.0f), highest = all(80.0f);
    const ints tiny = x < lowest;
    x = choose(tiny, lowest, choose(x > highest, highest, x));
    const vec n = nearest(x * 1.44269504088896341f);
    const vec r = fused(n, all(2.12194440e-4f), fused(n, all(-0.693359375f), x));
    vec p = all(1.0f / 5040);
    p = fused(p, r, all(1.0f / 720));
    p = fused(p, r, all(1.0f / 120));
    p = fused(p, r, all(1.0f / 24));
    p = fused(p, r, all(1.0f / 6));
    p = fused(p, r, all(0.5f));
    p = fused(p, r, all(1.0f));
    p = fused(p, r, all(1.0f));
    return choose(tiny, all(0.0f), p * (vec)((__builtin_convertvector(n, ints) + 127) << 23));
}

#endif
