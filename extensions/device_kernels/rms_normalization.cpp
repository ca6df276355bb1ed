// RMSNormalization: X, scale -> Y = n scale, n = X inverse; and inverse = 1/√(average(X²) + epsilon), one
// for each row: the averages are over the axes from `axis` on.
// RMSNormalizationGradient: dY, X, scale, inverse -> dX, dscale. With g = dY scale, over a row's elements:
//     dx = (g - n average(g n)) inverse,  dscale = sum of dy n.

#include <algorithm>
#include <cmath>

#include "kernels.h"
#include "rows.h"

namespace device_kernels {

namespace {

FOR_EACH_PROCESSOR float normalize(const float* __restrict x, const float* __restrict scale,
                                   float epsilon, float* __restrict y, int64_t size) {
  const double squares = sum_of(size, [&](int64_t i) { return x[i] * x[i]; });
  const float average = static_cast<float>(squares / static_cast<double>(size));
  const float inverse = 1.0f / std::sqrt(average + epsilon);
  for (int64_t i = 0; i < size; ++i) y[i] = x[i] * inverse * scale[i];
  return inverse;
}

FOR_EACH_PROCESSOR void row_gradient(const float* __restrict dy, const float* __restrict x,
                                     const float* __restrict scale, float inverse,
                                     float* __restrict dx, float* __restrict dscale, int64_t size) {
  float weighted = 0;
#pragma omp simd reduction(+ : weighted)
  for (int64_t i = 0; i < size; ++i) weighted += dy[i] * scale[i] * (x[i] * inverse);
  const float correlation = weighted / static_cast<float>(size);
  for (int64_t i = 0; i < size; ++i) {
    const float n = x[i] * inverse;
    dx[i] = (dy[i] * scale[i] - n * correlation) * inverse;
    dscale[i] += dy[i] * n;
  }
}

struct RMSNormalization {
  int64_t axis;
  float epsilon;

  RMSNormalization(const OrtApi& api, const OrtKernelInfo* info)
      : axis(integer_attribute(api, info, "axis", -1)),
        epsilon(real_attribute(api, info, "epsilon", 1e-5f)) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    const Rows normalized(shape, axis);
    const int64_t size = normalized.size;
    require(elements(run.shape(1)) == size, "X and scale do not fit");
    const float *x = run.input<float>(0), *scale = run.input<float>(1);
    float *y = run.output(0, shape), *inverse = run.output(1, normalized.of_row(shape));
    normalized.each(run, [&](int64_t row) {
      inverse[row] = normalize(x + row * size, scale, epsilon, y + row * size, size);
    });
  }
};

struct RMSNormalizationGradient {
  int64_t axis;

  RMSNormalizationGradient(const OrtApi& api, const OrtKernelInfo* info)
      : axis(integer_attribute(api, info, "axis", -1)) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0), of_scale = run.shape(2);
    const Rows normalized(shape, axis);
    const int64_t size = normalized.size;
    require(run.shape(1) == shape && elements(of_scale) == size, "dY, X and scale do not fit");
    require(elements(run.shape(3)) == normalized.rows, "inverse has not one value for each row");
    const float *dy = run.input<float>(0), *x = run.input<float>(1), *scale = run.input<float>(2);
    const float* inverse = run.input<float>(3);
    float *dx = run.output(0, shape), *dscale = run.output(1, of_scale);
    const auto sums = normalized.summed(run, size, [&](int64_t row, float* own) {
      const int64_t at = row * size;
      row_gradient(dy + at, x + at, scale, inverse[row], dx + at, own, size);
    });
    std::copy_n(sums.data(), size, dscale);
  }
};

}  // namespace

const OrtCustomOp* rms_normalization() {
  return make_operator<RMSNormalization>({"RMSNormalization", {kFloat, kFloat}, 2});
}

const OrtCustomOp* rms_normalization_gradient() {
  return make_operator<RMSNormalizationGradient>(
      {"RMSNormalizationGradient", {kFloat, kFloat, kFloat, kFloat}, 2});
}

}  // namespace device_kernels
