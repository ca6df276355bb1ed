// LayerNormalization: X, scale, bias -> Y, mean, inverse deviation, each over the axes from `axis` on.
// LayerNormalizationGradient: dY, X, scale, mean, inverse deviation -> dX, dscale, dbias.
// With n = (x - mean) / deviation and g = dy scale, over the elements of a row:
//     dx = (g - average(g) - n average(g n)) / deviation,  dscale = sum of dy n,  dbias = sum of dy.

#include <algorithm>
#include <cmath>

#include "kernels.h"
#include "rows.h"

namespace device_kernels {

namespace {

FOR_EACH_PROCESSOR void normalize(const float* __restrict x, const float* __restrict scale,
                                  const float* __restrict bias, float epsilon, float* __restrict y,
                                  float& mean, float& inverse, int64_t size) {
  const double count = static_cast<double>(size);
  const float average = static_cast<float>(sum_of(size, [&](int64_t i) { return x[i]; }) / count);
  // Of the differences: that of the averages of x² and x loses digits where the mean is large.
  const double squares = sum_of(size, [&](int64_t i) { return (x[i] - average) * (x[i] - average); });
  const float factor = 1.0f / std::sqrt(static_cast<float>(squares / count) + epsilon);
  for (int64_t i = 0; i < size; ++i) y[i] = (x[i] - average) * factor * scale[i] + bias[i];
  mean = average;
  inverse = factor;
}

FOR_EACH_PROCESSOR void row_gradient(const float* __restrict dy, const float* __restrict x,
                                     const float* __restrict scale, float mean, float inverse,
                                     float* __restrict dx, float* __restrict dscale,
                                     float* __restrict dbias, int64_t size) {
  float sum = 0, weighted = 0;
#pragma omp simd reduction(+ : sum, weighted)
  for (int64_t i = 0; i < size; ++i) {
    const float g = dy[i] * scale[i], n = (x[i] - mean) * inverse;
    sum += g;
    weighted += g * n;
  }
  const float average = sum / static_cast<float>(size);
  const float correlation = weighted / static_cast<float>(size);
  for (int64_t i = 0; i < size; ++i) {
    const float n = (x[i] - mean) * inverse;
    dx[i] = (dy[i] * scale[i] - average - n * correlation) * inverse;
    dscale[i] += dy[i] * n;
    dbias[i] += dy[i];
  }
}

struct LayerNormalization {
  int64_t axis;
  float epsilon;

  LayerNormalization(const OrtApi& api, const OrtKernelInfo* info)
      : axis(integer_attribute(api, info, "axis", -1)),
        epsilon(real_attribute(api, info, "epsilon", 1e-5f)) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    const Rows normalized(shape, axis);
    const int64_t size = normalized.size;
    require(elements(run.shape(1)) == size && elements(run.shape(2)) == size,
            "X, scale and bias do not fit");
    const Shape of_mean = normalized.of_row(shape);
    const float *x = run.input<float>(0), *scale = run.input<float>(1), *bias = run.input<float>(2);
    float *y = run.output(0, shape), *mean = run.output(1, of_mean);
    float* inverse = run.output(2, of_mean);
    normalized.each(run, [&](int64_t row) {
      const int64_t at = row * size;
      normalize(x + at, scale, bias, epsilon, y + at, mean[row], inverse[row], size);
    });
  }
};

struct LayerNormalizationGradient {
  int64_t axis;

  LayerNormalizationGradient(const OrtApi& api, const OrtKernelInfo* info)
      : axis(integer_attribute(api, info, "axis", -1)) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0), of_scale = run.shape(2);
    const Rows normalized(shape, axis);
    const int64_t rows = normalized.rows, size = normalized.size;
    require(run.shape(1) == shape && elements(of_scale) == size, "dY, X and scale do not fit");
    require(elements(run.shape(3)) == rows && elements(run.shape(4)) == rows,
            "mean or inverse deviation has not one value for each row");
    const float *dy = run.input<float>(0), *x = run.input<float>(1), *scale = run.input<float>(2);
    const float *mean = run.input<float>(3), *inverse = run.input<float>(4);
    float *dx = run.output(0, shape), *dscale = run.output(1, of_scale);
    float* dbias = run.output(2, of_scale);

    const std::vector<float> sums = normalized.summed(run, 2 * size, [&](int64_t row, float* own) {
      const int64_t at = row * size;
      row_gradient(dy + at, x + at, scale, mean[row], inverse[row], dx + at, own, own + size, size);
    });
    std::copy_n(sums.data(), size, dscale);
    std::copy_n(sums.data() + size, size, dbias);
  }
};

}  // namespace

const OrtCustomOp* layer_normalization() {
  return make_operator<LayerNormalization>({"LayerNormalization", {kFloat, kFloat, kFloat}, 3});
}

const OrtCustomOp* layer_normalization_gradient() {
  return make_operator<LayerNormalizationGradient>(
      {"LayerNormalizationGradient", {kFloat, kFloat, kFloat, kFloat, kFloat}, 3});
}

}  // namespace device_kernels
