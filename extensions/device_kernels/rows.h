// The rows of a tensor over which it is normalized, and sums over all rows.
#pragma once

#include <algorithm>
#include <vector>

#include "operator.h"

namespace device_kernels {

// The sum of `term(i)` for each i below `count`. Parts of it are summed in float32, and these in float64:
// in float32 alone, the average of a million numbers would have three digits.
template <class Term>
inline double sum_of(int64_t count, const Term& term) {
  constexpr int64_t kPart = 1024;
  double sum = 0;
  for (int64_t begin = 0; begin < count; begin += kPart) {
    const int64_t end = std::min(count, begin + kPart);
    float part = 0;
#pragma omp simd reduction(+ : part)
    for (int64_t i = begin; i < end; ++i) part += term(i);
    sum += part;
  }
  return sum;
}

// Each row has `size` elements: those of the axes from `axis` on.
struct Rows {
  int64_t rows, size;
  size_t axis;

  Rows(const Shape& shape, int64_t first_axis) {
    const int64_t rank = static_cast<int64_t>(shape.size());
    first_axis += first_axis < 0 ? rank : 0;
    require(0 <= first_axis && first_axis < rank, "axis is not one of the input's");
    axis = static_cast<size_t>(first_axis);
    rows = product(shape, 0, axis);
    size = product(shape, axis, shape.size());
  }

  // The shape of one value for each row.
  Shape of_row(const Shape& shape) const {
    Shape kept = shape;
    std::fill(kept.begin() + static_cast<int64_t>(axis), kept.end(), 1);
    return kept;
  }

  // Calls `compute(row)` for each row, on the threads of the session.
  template <class Compute>
  void each(const Run& run, const Compute& compute) const {
    const int64_t in_part = pieces_per_part(size);
    run.parallel((rows + in_part - 1) / in_part, [&](int64_t part) {
      const int64_t end = std::min(rows, (part + 1) * in_part);
      for (int64_t row = part * in_part; row < end; ++row) compute(row);
    });
  }

  // The same, where `compute(row, sums)` also adds to `width` sums: each part has sums of its own,
  // which are added in order.
  template <class Compute>
  std::vector<float> summed(const Run& run, int64_t width, const Compute& compute) const {
    const int64_t in_part = pieces_per_part(size), parts = (rows + in_part - 1) / in_part;
    std::vector<float> sums(std::max<int64_t>(parts, 1) * width);
    run.parallel(parts, [&](int64_t part) {
      const int64_t end = std::min(rows, (part + 1) * in_part);
      for (int64_t row = part * in_part; row < end; ++row) compute(row, sums.data() + part * width);
    });
    for (int64_t part = 1; part < parts; ++part)
      for (int64_t i = 0; i < width; ++i) sums[i] += sums[part * width + i];
    return sums;
  }
};

}  // namespace device_kernels
