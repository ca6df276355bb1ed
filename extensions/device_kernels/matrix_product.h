// Products of small matrices in memory that is laid out for them, as attention needs: the sums of a tile
// stay in registers. Always inlined into loops that are compiled for each processor.
#pragma once

#include <cstdint>

#if defined(__GNUC__)
#define INTO_THE_CALLER inline __attribute__((always_inline))
#else
#define INTO_THE_CALLER inline
#endif

namespace device_kernels {

constexpr int64_t kTileRows = 8, kTileColumns = 32, kLeastColumns = 16;

inline int64_t rounded_up(int64_t size, int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// A row-major matrix, or the transposed of one.
struct Left {
  const float* values;
  int64_t row_step, column_step;
};

template <int64_t kColumns>
INTO_THE_CALLER void multiply_tile(const Left& left, const float* __restrict right,
                                   int64_t right_step, int64_t inner, float* __restrict result,
                                   int64_t result_step, bool add) {
  float sums[kTileRows][kColumns];
  for (int64_t i = 0; i < kTileRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) sums[i][j] = add ? result[i * result_step + j] : 0.0f;
  const float* __restrict values = left.values;
  for (int64_t k = 0; k < inner; ++k, values += left.column_step, right += right_step) {
    for (int64_t i = 0; i < kTileRows; ++i) {
      const float value = values[i * left.row_step];
#pragma omp simd
      for (int64_t j = 0; j < kColumns; ++j) sums[i][j] += value * right[j];
    }
  }
  for (int64_t i = 0; i < kTileRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) result[i * result_step + j] = sums[i][j];
}

// result = left · right, or result += left · right. `rows` is a multiple of kTileRows and `columns` one of
// kLeastColumns; `right` and `result` are row-major. The columns of a tile stay in the first cache.
INTO_THE_CALLER void multiply(int64_t rows, int64_t columns, int64_t inner, Left left,
                              const float* right, int64_t right_step, float* result,
                              int64_t result_step, bool add) {
  for (int64_t j = 0; j < columns; j += kTileColumns) {
    const bool whole = j + kTileColumns <= columns;
    for (int64_t i = 0; i < rows; i += kTileRows) {
      const Left tile{left.values + i * left.row_step, left.row_step, left.column_step};
      float* made = result + i * result_step + j;
      if (whole)
        multiply_tile<kTileColumns>(tile, right + j, right_step, inner, made, result_step, add);
      else
        multiply_tile<kLeastColumns>(tile, right + j, right_step, inner, made, result_step, add);
    }
  }
}

}  // namespace device_kernels
