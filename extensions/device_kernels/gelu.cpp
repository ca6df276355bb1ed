// Gelu: X -> Y = X F(X), F the normal distribution function. GeluGradient: dY, X -> dX = dY (F(X) + X F'(X)).
// BiasGelu: X, bias -> the Gelu of X + bias. BiasGeluGradient: dY, X, bias -> dX, dbias; the sum is
// computed again, so that nothing keeps it.

#include <algorithm>

#include "exponential.h"
#include "kernels.h"

namespace device_kernels {

namespace {

// e^(-x²/2) and F(x). Of t = |x|/√2, erfc(t) e^(t²) is a polynomial in 1/(1 + 0.43 t), fitted for the
// least relative error, 2e-7, over t from 0 to 12.
inline void normal(float x, float& density, float& distribution) {
  const float t = (x < 0 ? -x : x) * 0.707106781f;
  const float k = 1.0f / (1.0f + 0.43f * t);
  density = exponential(-t * t);
  float tail = 0.0709092723f;
  tail = tail * k - 0.299028886f;
  tail = tail * k + 0.364730965f;
  tail = tail * k - 0.0688157078f;
  tail = tail * k + 0.23820707f;
  tail = tail * k + 0.20746996f;
  tail = tail * k + 0.243988429f;
  tail = tail * k + 0.24253872f;
  tail = 0.5f * tail * k * density;
  distribution = x < 0 ? tail : 1.0f - tail;
}

FOR_EACH_PROCESSOR void forward(const float* __restrict x, float* __restrict y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float density, distribution;
    normal(x[i], density, distribution);
    y[i] = x[i] * distribution;
  }
}

FOR_EACH_PROCESSOR void backward(const float* __restrict dy, const float* __restrict x,
                                 float* __restrict dx, int64_t count) {
  constexpr float kScale = 0.398942280f;  // 1 / √(2π)
  for (int64_t i = 0; i < count; ++i) {
    float density, distribution;
    normal(x[i], density, distribution);
    dx[i] = dy[i] * (distribution + x[i] * density * kScale);
  }
}

FOR_EACH_PROCESSOR void biased_forward(const float* __restrict x, const float* __restrict bias,
                                       float* __restrict y, int64_t rows, int64_t size) {
  for (int64_t row = 0; row < rows; ++row, x += size, y += size) {
    for (int64_t i = 0; i < size; ++i) {
      float density, distribution;
      const float sum = x[i] + bias[i];
      normal(sum, density, distribution);
      y[i] = sum * distribution;
    }
  }
}

FOR_EACH_PROCESSOR void biased_backward(const float* __restrict dy, const float* __restrict x,
                                        const float* __restrict bias, float* __restrict dx,
                                        float* __restrict dbias, int64_t rows, int64_t size) {
  constexpr float kScale = 0.398942280f;
  for (int64_t row = 0; row < rows; ++row, dy += size, x += size, dx += size) {
    for (int64_t i = 0; i < size; ++i) {
      float density, distribution;
      const float sum = x[i] + bias[i];
      normal(sum, density, distribution);
      const float gradient = dy[i] * (distribution + sum * density * kScale);
      dx[i] = gradient;
      dbias[i] += gradient;
    }
  }
}

template <class Part>
void in_parts(const Run& run, int64_t count, const Part& part) {
  const int64_t size = pieces_per_part(1);
  run.parallel((count + size - 1) / size, [&](int64_t index) {
    part(index * size, std::min(size, count - index * size));
  });
}

struct Gelu {
  Gelu(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    const float* x = run.input<float>(0);
    float* y = run.output(0, shape);
    in_parts(run, elements(shape),
             [&](int64_t at, int64_t count) { forward(x + at, y + at, count); });
  }
};

struct GeluGradient {
  GeluGradient(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    require(run.shape(1) == shape, "dY and X differ in shape");
    const float *dy = run.input<float>(0), *x = run.input<float>(1);
    float* dx = run.output(0, shape);
    in_parts(run, elements(shape),
             [&](int64_t at, int64_t count) { backward(dy + at, x + at, dx + at, count); });
  }
};

// The rows of X, each as long as the bias.
int64_t rows_of(const Shape& shape, const Shape& bias) {
  require(!shape.empty() && bias.size() == 1 && bias[0] == shape.back(), "X and bias do not fit");
  return product(shape, 0, shape.size() - 1);
}

struct BiasGelu {
  BiasGelu(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    const int64_t rows = rows_of(shape, run.shape(1)), size = shape.back();
    const float *x = run.input<float>(0), *bias = run.input<float>(1);
    float* y = run.output(0, shape);
    const int64_t in_part = pieces_per_part(size);
    run.parallel((rows + in_part - 1) / in_part, [&](int64_t part) {
      const int64_t begin = part * in_part, at = begin * size;
      biased_forward(x + at, bias, y + at, std::min(in_part, rows - begin), size);
    });
  }
};

struct BiasGeluGradient {
  BiasGeluGradient(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(1), of_bias = run.shape(2);
    const int64_t rows = rows_of(shape, of_bias), size = shape.back();
    require(run.shape(0) == shape, "dY and X differ in shape");
    const float *dy = run.input<float>(0), *x = run.input<float>(1), *bias = run.input<float>(2);
    float *dx = run.output(0, shape), *dbias = run.output(1, of_bias);
    // Each part has sums of its own; they are added in order.
    const int64_t in_part = pieces_per_part(size), parts = (rows + in_part - 1) / in_part;
    std::vector<float> sums(parts * size);
    run.parallel(parts, [&](int64_t part) {
      const int64_t begin = part * in_part, at = begin * size;
      biased_backward(dy + at, x + at, bias, dx + at, sums.data() + part * size,
                      std::min(in_part, rows - begin), size);
    });
    std::fill_n(dbias, size, 0.0f);
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t i = 0; i < size; ++i) dbias[i] += sums[part * size + i];
  }
};

}  // namespace

const OrtCustomOp* bias_gelu() { return make_operator<BiasGelu>({"BiasGelu", {kFloat, kFloat}, 1}); }

const OrtCustomOp* bias_gelu_gradient() {
  return make_operator<BiasGeluGradient>({"BiasGeluGradient", {kFloat, kFloat, kFloat}, 2});
}

const OrtCustomOp* gelu() { return make_operator<Gelu>({"Gelu", {kFloat}, 1}); }

const OrtCustomOp* gelu_gradient() {
  return make_operator<GeluGradient>({"GeluGradient", {kFloat, kFloat}, 1});
}

}  // namespace device_kernels
