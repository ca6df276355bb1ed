// MaxPool: X -> Y, the largest value of each window; with `relu` at least 0.
// MaxPoolGradient: dY, X -> dX. Which value is the largest, the first of equals, is found again, so that
// nothing keeps it; with `relu` it has no gradient unless it is positive. NaN is the largest of all.

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels.h"
#include "matrix_product.h"
#include "scratch.h"
#include "window.h"

namespace device_kernels {

namespace {

// One channel of one picture, and its windows.
struct Plane {
  Window window;
  int64_t height, width, rows, columns;
  bool relu, in_pairs;
};

// A row of windows: `largest` of each and, where `places` is given, its place after the window's first.
// kStride is that of the columns; 0 where it is another. Without NaN a comparison is one instruction, and
// no branch, which the processor would guess wrong, in the rest of a row that fills no vector either.
template <int64_t kStride, bool kNaN>
INTO_THE_CALLER void scan_row(const Plane& plane, const float* __restrict x, int64_t row,
                              float* __restrict largest, int32_t* __restrict places) {
  const Window& window = plane.window;
  const int64_t stride = kStride != 0 ? kStride : window.column_stride;
  const int64_t first_row = row * window.row_stride - window.top;
  const int64_t above = first_row < 0 ? (-first_row + window.row_dilation - 1) / window.row_dilation : 0;
  for (int64_t j = 0; j < plane.columns; ++j) largest[j] = -std::numeric_limits<float>::infinity();
  if (places != nullptr) {
    for (int64_t j = 0; j < plane.columns; ++j) {
      const int64_t outside = std::max<int64_t>(window.left - j * stride, 0);
      const int64_t steps = (outside + window.column_dilation - 1) / window.column_dilation;
      places[j] = static_cast<int32_t>(above * window.row_dilation * plane.width +
                                       steps * window.column_dilation);
    }
  }
  for (int64_t a = above; a < window.height; ++a) {
    const int64_t down = a * window.row_dilation;
    if (first_row + down >= plane.height) break;
    for (int64_t b = 0; b < window.width; ++b) {
      const int64_t across = b * window.column_dilation;
      // The windows whose value at that place is within the picture.
      const int64_t left = window.left - across, right = plane.width - 1 + left;
      if (right < 0) continue;
      const int64_t begin = left > 0 ? (left + stride - 1) / stride : 0;
      const int64_t end = std::min(plane.columns, right / stride + 1);
      const float* __restrict values = x + (first_row + down) * plane.width - left;
      if (places == nullptr) {
#pragma omp simd
        for (int64_t j = begin; j < end; ++j) {
          const float value = values[j * stride];
          largest[j] = value > largest[j] || (kNaN && value != value) ? value : largest[j];
        }
      } else {
        const int32_t place = static_cast<int32_t>(down * plane.width + across);
#pragma omp simd
        for (int64_t j = begin; j < end; ++j) {
          const float value = values[j * stride];
          const bool larger = value > largest[j] || (kNaN && value != value);
          largest[j] = larger ? value : largest[j];
          places[j] = larger ? place : places[j];
        }
      }
    }
  }
}

template <bool kNaN>
INTO_THE_CALLER void scan(const Plane& plane, const float* x, int64_t row, float* largest,
                          int32_t* places) {
  if (plane.window.column_stride == 2)
    scan_row<2, kNaN>(plane, x, row, largest, places);
  else if (plane.window.column_stride == 1)
    scan_row<1, kNaN>(plane, x, row, largest, places);
  else
    scan_row<0, kNaN>(plane, x, row, largest, places);
}

INTO_THE_CALLER bool any_nan(const float* values, int64_t count) {
  int found = 0;
#pragma omp simd reduction(| : found)
  for (int64_t i = 0; i < count; ++i) found |= values[i] != values[i];
  return found != 0;
}

template <bool kNaN>
INTO_THE_CALLER void forward_anywhere(const Plane& plane, const float* x, float* y) {
  for (int64_t row = 0; row < plane.rows; ++row, y += plane.columns) {
    scan<kNaN>(plane, x, row, y, nullptr);
    if (plane.relu)
      for (int64_t j = 0; j < plane.columns; ++j) y[j] = 0 > y[j] ? 0 : y[j];
  }
}

// Windows of two by two, one beside the other: each value is in one of them. None is NaN.
INTO_THE_CALLER void forward_in_pairs(const Plane& plane, const float* x, float* y) {
  const float floor = plane.relu ? 0.0f : -std::numeric_limits<float>::infinity();
  for (int64_t row = 0; row < plane.rows; ++row, y += plane.columns) {
    const float *__restrict upper = x + 2 * row * plane.width, *__restrict lower = upper + plane.width;
    float* __restrict largest = y;
#pragma omp simd
    for (int64_t j = 0; j < plane.columns; ++j) {
      const float above = std::max(upper[2 * j], upper[2 * j + 1]);
      const float below = std::max(lower[2 * j], lower[2 * j + 1]);
      largest[j] = std::max(std::max(above, below), floor);
    }
  }
}

// The value where it `counts`, else 0; neither a product, in which infinity would become NaN, nor a branch.
inline float where(bool counts, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits &= 0u - static_cast<uint32_t>(counts);
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

INTO_THE_CALLER void backward_in_pairs(const Plane& plane, const float* dy, const float* x, float* dx) {
  const int64_t width = plane.width;
  const bool all = !plane.relu;
  if (plane.height % 2 != 0 || width % 2 != 0) std::fill_n(dx, plane.height * width, 0.0f);
  for (int64_t row = 0; row < plane.rows; ++row, dy += plane.columns) {
    const float *__restrict upper = x + 2 * row * width, *__restrict lower = upper + width;
    float *__restrict above = dx + 2 * row * width, *__restrict below = above + width;
    const float* __restrict upstream = dy;
#pragma omp simd
    for (int64_t j = 0; j < plane.columns; ++j) {
      const float a = upper[2 * j], b = upper[2 * j + 1], c = lower[2 * j], d = lower[2 * j + 1];
      const float of_two = std::max(a, b), of_three = std::max(of_two, c);
      const float largest = std::max(of_three, d);
      const bool fourth = d > of_three, third = (c > of_two) & !fourth;
      const bool second = (b > a) & !(c > of_two) & !fourth;
      const float slope = where(all | (largest > 0), upstream[j]);
      above[2 * j] = where(!(second | third | fourth), slope);
      above[2 * j + 1] = where(second, slope);
      below[2 * j] = where(third, slope);
      below[2 * j + 1] = where(fourth, slope);
    }
  }
}

template <bool kNaN>
INTO_THE_CALLER void backward_anywhere(const Plane& plane, const float* dy, const float* x,
                                       float* __restrict dx, float* largest, int32_t* places) {
  const Window& window = plane.window;
  std::fill_n(dx, plane.height * plane.width, 0.0f);
  for (int64_t row = 0; row < plane.rows; ++row, dy += plane.columns) {
    scan<kNaN>(plane, x, row, largest, places);
    float* first = dx + (row * window.row_stride - window.top) * plane.width - window.left;
    for (int64_t j = 0; j < plane.columns; ++j)
      first[j * window.column_stride + places[j]] += where(!plane.relu | !(largest[j] <= 0), dy[j]);
  }
}

FOR_EACH_PROCESSOR void forward(const Plane& plane, const float* x, float* y) {
  if (any_nan(x, plane.height * plane.width))
    forward_anywhere<true>(plane, x, y);
  else if (plane.in_pairs)
    forward_in_pairs(plane, x, y);
  else
    forward_anywhere<false>(plane, x, y);
}

FOR_EACH_PROCESSOR void backward(const Plane& plane, const float* dy, const float* x, float* dx,
                                 float* largest, int32_t* places) {
  if (any_nan(x, plane.height * plane.width))
    backward_anywhere<true>(plane, dy, x, dx, largest, places);
  else if (plane.in_pairs)
    backward_in_pairs(plane, dy, x, dx);
  else
    backward_anywhere<false>(plane, dy, x, dx, largest, places);
}

struct Pooling {
  Window window;
  bool relu;

  Pooling(const OrtApi& api, const OrtKernelInfo* info)
      : window(api, info), relu(integer_attribute(api, info, "relu", 0) != 0) {}

  Plane plane(const Pictures& x) const {
    require(window.reaches(x), "a window may lie beyond the picture");
    const bool in_pairs = window.height == 2 && window.width == 2 && window.row_stride == 2 &&
                          window.column_stride == 2 && window.row_dilation == 1 &&
                          window.column_dilation == 1 && window.top + window.left == 0 &&
                          window.bottom + window.right == 0;
    return {window, x.height, x.width, window.rows(x), window.columns(x), relu, in_pairs};
  }
};

struct MaxPool : Pooling {
  using Pooling::Pooling;

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    const Pictures pictures(shape);
    const Plane plane = this->plane(pictures);
    const float* x = run.input<float>(0);
    float* y = run.output(0, window.result(shape, pictures.channels));
    const int64_t planes = pictures.count * pictures.channels;
    const int64_t in_part = pieces_per_part(pictures.places());
    run.parallel((planes + in_part - 1) / in_part, [&](int64_t part) {
      const int64_t end = std::min(planes, (part + 1) * in_part);
      for (int64_t index = part * in_part; index < end; ++index)
        forward(plane, x + index * pictures.places(), y + index * plane.rows * plane.columns);
    });
  }
};

struct MaxPoolGradient : Pooling {
  using Pooling::Pooling;

  void compute(const Run& run) const {
    const Shape shape = run.shape(1);
    const Pictures pictures(shape);
    const Plane plane = this->plane(pictures);
    require(run.shape(0) == window.result(shape, pictures.channels), "dY and X do not fit");
    const float *dy = run.input<float>(0), *x = run.input<float>(1);
    float* dx = run.output(0, shape);
    const int64_t planes = pictures.count * pictures.channels;
    const int64_t in_part = pieces_per_part(pictures.places());
    run.parallel((planes + in_part - 1) / in_part, [&](int64_t part) {
      float* largest = scratch_of(plane.columns);
      std::vector<int32_t> places(static_cast<size_t>(plane.columns));
      const int64_t end = std::min(planes, (part + 1) * in_part);
      for (int64_t index = part * in_part; index < end; ++index) {
        const int64_t at = index * pictures.places();
        backward(plane, dy + index * plane.rows * plane.columns, x + at, dx + at, largest,
                 places.data());
      }
    });
  }
};

}  // namespace

const OrtCustomOp* max_pool() { return make_operator<MaxPool>({"MaxPool", {kFloat}, 1}); }

const OrtCustomOp* max_pool_gradient() {
  return make_operator<MaxPoolGradient>({"MaxPoolGradient", {kFloat, kFloat}, 1});
}

}  // namespace device_kernels
