// Products with a matrix that is nowhere stored as such: its element (i, k) is rows[i][offsets[k]]. Those of
// a convolution are of that kind, with windows as rows and the places in a window as offsets, or the other
// way round for the gradient of its weights.
#pragma once

#include <algorithm>

#include "matrix_product.h"

namespace device_kernels {

// A row-major matrix with one row for each offset, and a row that is added to each of the product. Their
// width is a multiple of kLeastColumns.
struct Right {
  const float *values, *added;
  int64_t width;
};

template <int64_t kColumns>
INTO_THE_CALLER void gathered_tile(const float* const* rows, const int64_t* __restrict offsets,
                                   int64_t inner, const float* __restrict right, int64_t right_step,
                                   const float* __restrict added,
                                   float (&made)[kTileRows][kColumns]) {
  float sums[kTileRows][kColumns];
  for (int64_t i = 0; i < kTileRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) sums[i][j] = added[j];
  const float* __restrict of_row[kTileRows];
  for (int64_t i = 0; i < kTileRows; ++i) of_row[i] = rows[i];
  for (int64_t k = 0; k < inner; ++k, right += right_step) {
    const int64_t offset = offsets[k];
    for (int64_t i = 0; i < kTileRows; ++i) {
      const float value = of_row[i][offset];
#pragma omp simd
      for (int64_t j = 0; j < kColumns; ++j) sums[i][j] += value * right[j];
    }
  }
  for (int64_t i = 0; i < kTileRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) made[i][j] = sums[i][j];
}

// Calls write(first row, first column, tile) for each tile of the product; `starts` are those of the rows.
// The last tile repeats the last row.
template <class Write>
INTO_THE_CALLER void multiply_gathered(const float* values, const int64_t* starts, int64_t count,
                                       const int64_t* offsets, int64_t inner, const Right& right,
                                       const Write& write) {
  for (int64_t j = 0; j < right.width; j += kTileColumns) {
    for (int64_t i = 0; i < count; i += kTileRows) {
      const float* rows[kTileRows];
      for (int64_t k = 0; k < kTileRows; ++k) rows[k] = values + starts[std::min(i + k, count - 1)];
      if (j + kTileColumns <= right.width) {
        float made[kTileRows][kTileColumns];
        gathered_tile<kTileColumns>(rows, offsets, inner, right.values + j, right.width,
                                    right.added + j, made);
        write(i, j, kTileColumns, &made[0][0]);
      } else {
        float made[kTileRows][kLeastColumns];
        gathered_tile<kLeastColumns>(rows, offsets, inner, right.values + j, right.width,
                                    right.added + j, made);
        write(i, j, kLeastColumns, &made[0][0]);
      }
    }
  }
}

}  // namespace device_kernels
