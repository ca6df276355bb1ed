// TanhGelu: X -> Y = X (1 + tanh(√(2/π) (X + 0.044715 X³))) / 2 = X S(Z), S(z) = 1/(1 + e^-z), Z twice what tanh
// is of. TanhGeluGradient: dY, X -> dX = dY (S(Z) + X S(Z) (1 - S(Z)) Z'). BiasTanhGelu: X, bias -> the
// TanhGelu of X + bias. BiasTanhGeluGradient: dY, X, bias -> dX, dbias.

#include "activation.h"
#include "kernels.h"
#include "sigmoid.h"

namespace device_kernels {

namespace {

constexpr float kSlope = 1.59576912f;  // 2 √(2/π)
constexpr float kCubic = 0.0713548163f;  // 0.044715 times that

inline float value(float x) {
  float share, rest;
  sigmoid(x * (kSlope + kCubic * x * x), share, rest);
  return x * share;
}

// Where S or 1 - S is 0 the slope is S, also where Z' is infinite.
inline float slope(float x) {
  float share, rest;
  const float squared = x * x;
  sigmoid(x * (kSlope + kCubic * squared), share, rest);
  const float steepness = share * rest;
  const float inner = steepness == 0.0f ? 0.0f : kSlope + 3.0f * kCubic * squared;
  return share + x * steepness * inner;
}

FOR_EACH_PROCESSOR void forward(const float* __restrict x, float* __restrict y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = value(x[i]);
}

FOR_EACH_PROCESSOR void backward(const float* __restrict dy, const float* __restrict x,
                                 float* __restrict dx, int64_t count) {
  for (int64_t i = 0; i < count; ++i) dx[i] = dy[i] * slope(x[i]);
}

FOR_EACH_PROCESSOR void biased_forward(const float* __restrict x, const float* __restrict bias,
                                       float* __restrict y, int64_t size) {
  for (int64_t i = 0; i < size; ++i) y[i] = value(x[i] + bias[i]);
}

FOR_EACH_PROCESSOR void biased_backward(const float* __restrict dy, const float* __restrict x,
                                        const float* __restrict bias, float* __restrict dx,
                                        float* __restrict dbias, int64_t size) {
  for (int64_t i = 0; i < size; ++i) {
    const float gradient = dy[i] * slope(x[i] + bias[i]);
    dx[i] = gradient;
    dbias[i] += gradient;
  }
}

}  // namespace

const OrtCustomOp* bias_tanh_gelu() {
  return make_operator<BiasActivation<biased_forward>>({"BiasTanhGelu", {kFloat, kFloat}, 1});
}

const OrtCustomOp* bias_tanh_gelu_gradient() {
  return make_operator<BiasActivationGradient<biased_backward>>(
      {"BiasTanhGeluGradient", {kFloat, kFloat, kFloat}, 2});
}

const OrtCustomOp* tanh_gelu() {
  return make_operator<Activation<forward>>({"TanhGelu", {kFloat}, 1});
}

const OrtCustomOp* tanh_gelu_gradient() {
  return make_operator<ActivationGradient<backward>>({"TanhGeluGradient", {kFloat, kFloat}, 1});
}

}  // namespace device_kernels
