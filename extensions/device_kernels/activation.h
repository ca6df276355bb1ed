// Operators of an activation function, alone and of a sum with a bias, from loops over elements. The sum
// is computed again for the gradient, so that nothing keeps it.
#pragma once

#include <algorithm>
#include <vector>

#include "operator.h"
#include "rows.h"

namespace device_kernels {

// Calls `part(at, count)` for parts of `count` elements, on the threads of the session.
template <class Part>
void in_parts(const Run& run, int64_t count, const Part& part) {
  const int64_t size = pieces_per_part(1);
  run.parallel((count + size - 1) / size, [&](int64_t index) {
    part(index * size, std::min(size, count - index * size));
  });
}

// The rows of X, each as long as the bias.
inline Rows rows_with_bias(const Shape& shape, const Shape& bias) {
  require(!shape.empty() && bias.size() == 1 && bias[0] == shape.back(), "X and bias do not fit");
  return Rows(shape, -1);
}

// X -> Y, by forward(x, y, count).
template <auto forward>
struct Activation {
  Activation(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    const float* x = run.input<float>(0);
    float* y = run.output(0, shape);
    in_parts(run, elements(shape),
             [&](int64_t at, int64_t count) { forward(x + at, y + at, count); });
  }
};

// dY, X -> dX, by backward(dy, x, dx, count).
template <auto backward>
struct ActivationGradient {
  ActivationGradient(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    require(run.shape(1) == shape, "dY and X differ in shape");
    const float *dy = run.input<float>(0), *x = run.input<float>(1);
    float* dx = run.output(0, shape);
    in_parts(run, elements(shape),
             [&](int64_t at, int64_t count) { backward(dy + at, x + at, dx + at, count); });
  }
};

// X, bias -> Y, by forward(x, bias, y, size) for each row.
template <auto forward>
struct BiasActivation {
  BiasActivation(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    const Rows rows = rows_with_bias(shape, run.shape(1));
    const float *x = run.input<float>(0), *bias = run.input<float>(1);
    float* y = run.output(0, shape);
    rows.each(run, [&](int64_t row) {
      forward(x + row * rows.size, bias, y + row * rows.size, rows.size);
    });
  }
};

// dY, X, bias -> dX, dbias, by backward(dy, x, bias, dx, dbias, size), which adds to dbias, for each row.
template <auto backward>
struct BiasActivationGradient {
  BiasActivationGradient(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(1), of_bias = run.shape(2);
    const Rows rows = rows_with_bias(shape, of_bias);
    require(run.shape(0) == shape, "dY and X differ in shape");
    const float *dy = run.input<float>(0), *x = run.input<float>(1), *bias = run.input<float>(2);
    float *dx = run.output(0, shape), *dbias = run.output(1, of_bias);
    const auto sums = rows.summed(run, rows.size, [&](int64_t row, float* own) {
      const int64_t at = row * rows.size;
      backward(dy + at, x + at, bias, dx + at, own, rows.size);
    });
    std::copy_n(sums.data(), rows.size, dbias);
  }
};

}  // namespace device_kernels
