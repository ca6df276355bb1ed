// Transposes blocks of eight by eight, in registers where the compiler has vectors.
#pragma once

#include <cstdint>
#include <cstring>

#include "matrix_product.h"

namespace device_kernels {

constexpr int64_t kBlockSize = 8;

#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)

using Eight = float __attribute__((vector_size(kBlockSize * sizeof(float))));

// Row i of `from` becomes column i of `to`.
INTO_THE_CALLER void transpose_block(const float* from, int64_t from_step, float* to,
                                     int64_t to_step) {
  Eight rows[kBlockSize], pairs[kBlockSize], fours[kBlockSize];
  for (int64_t i = 0; i < kBlockSize; ++i) std::memcpy(&rows[i], from + i * from_step, sizeof rows[i]);
  for (int64_t i = 0; i < kBlockSize; i += 2) {
    pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int64_t i = 0; i < kBlockSize; i += 4) {
    for (int64_t k = 0; k < 2; ++k) {
      const Eight &one = pairs[i + k], &other = pairs[i + 2 + k];
      fours[i + 2 * k] = __builtin_shufflevector(one, other, 0, 1, 8, 9, 4, 5, 12, 13);
      fours[i + 2 * k + 1] = __builtin_shufflevector(one, other, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int64_t i = 0; i < kBlockSize / 2; ++i) {
    const Eight &one = fours[i], &other = fours[i + 4];
    const Eight low = __builtin_shufflevector(one, other, 0, 1, 2, 3, 8, 9, 10, 11);
    const Eight high = __builtin_shufflevector(one, other, 4, 5, 6, 7, 12, 13, 14, 15);
    std::memcpy(to + i * to_step, &low, sizeof low);
    std::memcpy(to + (i + 4) * to_step, &high, sizeof high);
  }
}

#else

INTO_THE_CALLER void transpose_block(const float* from, int64_t from_step, float* to,
                                     int64_t to_step) {
  for (int64_t i = 0; i < kBlockSize; ++i)
    for (int64_t j = 0; j < kBlockSize; ++j) to[j * to_step + i] = from[i * from_step + j];
}

#endif

}  // namespace device_kernels
