// SoftmaxGradient: dY, Y -> dX = Y (dY - sum of dY Y), over the last axis.
// LogSoftmaxGradient: dY, Y -> dX = dY - e^Y sum of dY, over the last axis.

#include <algorithm>

#include "exponential.h"
#include "kernels.h"
#include "rows.h"

namespace device_kernels {

namespace {

FOR_EACH_PROCESSOR void of_softmax(const float* __restrict dy, const float* __restrict y,
                                   float* __restrict dx, int64_t size) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) sum += dy[i] * y[i];
  for (int64_t i = 0; i < size; ++i) dx[i] = y[i] * (dy[i] - sum);
}

// `dx` may be `dy`.
FOR_EACH_PROCESSOR void of_log_softmax(const float* dy, const float* __restrict y, float* dx,
                                       int64_t size) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) sum += dy[i];
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) dx[i] = dy[i] - exponential_or_zero(y[i]) * sum;
}

template <auto gradient>
struct RowGradient {
  RowGradient(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    require(!shape.empty() && run.shape(1) == shape, "dY and Y do not fit");
    const Rows rows(shape, -1);
    const float *dy = run.input<float>(0), *y = run.input<float>(1);
    float* dx = run.output(0, shape);
    rows.each(run, [&](int64_t row) {
      const int64_t at = row * rows.size;
      gradient(dy + at, y + at, dx + at, rows.size);
    });
  }
};

}  // namespace

template <>
constexpr int kOverwritten<RowGradient<of_log_softmax>> = 0;

const OrtCustomOp* log_softmax_gradient() {
  return make_operator<RowGradient<of_log_softmax>>({"LogSoftmaxGradient", {kFloat, kFloat}, 1});
}

const OrtCustomOp* softmax_gradient() {
  return make_operator<RowGradient<of_softmax>>({"SoftmaxGradient", {kFloat, kFloat}, 1});
}

}  // namespace device_kernels
