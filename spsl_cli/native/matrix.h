/* Weights of one linear layer as they are kept, and products of a few rows with them. */

#ifndef SPSL_MATRIX_H
#define SPSL_MATRIX_H

#include <stdint.h>

#define GROUP 32

/* [outputs, inputs] numbers of `bits` bits: 32 are float32, 16 bfloat16. Of 8 and 4 bits with scale [outputs, inputs /
 * GROUP], of 4 bits with least weights likewise. bias: [outputs] or NULL. `inputs` is a multiple of GROUP. */
typedef struct {
    const uint8_t *numbers;
    const float *scale, *least, *bias;
    int outputs, inputs, bits;
} matrix;

/* y[r * y_row + o] = x[r * x_row] . weight o + bias[o], for the outputs of `count` matrices one behind the other, all of
 * the same inputs. Strides in floats. */
void spsl_products(const matrix *of, int count, const float *x, long x_row, float *y, long y_row, int rows, int threads);

#endif
