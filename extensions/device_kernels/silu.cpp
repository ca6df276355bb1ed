// Silu: X -> Y = X S(X), S(x) = 1/(1 + e^-x). SiluGradient: dY, X -> dX = dY (S(X) + X S(X) (1 - S(X))).
// BiasSilu: X, bias -> the Silu of X + bias. BiasSiluGradient: dY, X, bias -> dX, dbias.
// GatedSilu: gate, X -> Y = Silu(gate) X. GatedSiluGradient: dY, gate, X -> dgate, dX.

#include "activation.h"
#include "kernels.h"
#include "sigmoid.h"

namespace device_kernels {

namespace {

FOR_EACH_PROCESSOR void forward(const float* __restrict x, float* __restrict y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float share, rest;
    sigmoid(x[i], share, rest);
    y[i] = x[i] * share;
  }
}

FOR_EACH_PROCESSOR void backward(const float* __restrict dy, const float* __restrict x,
                                 float* __restrict dx, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float share, rest;
    sigmoid(x[i], share, rest);
    dx[i] = dy[i] * (share + x[i] * share * rest);
  }
}

FOR_EACH_PROCESSOR void biased_forward(const float* __restrict x, const float* __restrict bias,
                                       float* __restrict y, int64_t size) {
  for (int64_t i = 0; i < size; ++i) {
    float share, rest;
    const float sum = x[i] + bias[i];
    sigmoid(sum, share, rest);
    y[i] = sum * share;
  }
}

FOR_EACH_PROCESSOR void biased_backward(const float* __restrict dy, const float* __restrict x,
                                        const float* __restrict bias, float* __restrict dx,
                                        float* __restrict dbias, int64_t size) {
  for (int64_t i = 0; i < size; ++i) {
    float share, rest;
    const float sum = x[i] + bias[i];
    sigmoid(sum, share, rest);
    const float gradient = dy[i] * (share + sum * share * rest);
    dx[i] = gradient;
    dbias[i] += gradient;
  }
}

FOR_EACH_PROCESSOR void gated_forward(const float* __restrict gate, const float* __restrict x,
                                      float* __restrict y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float share, rest;
    sigmoid(gate[i], share, rest);
    y[i] = gate[i] * share * x[i];
  }
}

FOR_EACH_PROCESSOR void gated_backward(const float* __restrict dy, const float* __restrict gate,
                                       const float* __restrict x, float* __restrict dgate,
                                       float* __restrict dx, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float share, rest;
    sigmoid(gate[i], share, rest);
    const float silu = gate[i] * share;
    dgate[i] = dy[i] * x[i] * (share + silu * rest);
    dx[i] = dy[i] * silu;
  }
}

struct GatedSilu {
  GatedSilu(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    require(run.shape(1) == shape, "gate and X differ in shape");
    const float *gate = run.input<float>(0), *x = run.input<float>(1);
    float* y = run.output(0, shape);
    in_parts(run, elements(shape),
             [&](int64_t at, int64_t count) { gated_forward(gate + at, x + at, y + at, count); });
  }
};

struct GatedSiluGradient {
  GatedSiluGradient(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    require(run.shape(1) == shape && run.shape(2) == shape, "dY, gate and X differ in shape");
    const float *dy = run.input<float>(0), *gate = run.input<float>(1), *x = run.input<float>(2);
    float *dgate = run.output(0, shape), *dx = run.output(1, shape);
    in_parts(run, elements(shape), [&](int64_t at, int64_t count) {
      gated_backward(dy + at, gate + at, x + at, dgate + at, dx + at, count);
    });
  }
};

}  // namespace

const OrtCustomOp* silu() { return make_operator<Activation<forward>>({"Silu", {kFloat}, 1}); }

const OrtCustomOp* silu_gradient() {
  return make_operator<ActivationGradient<backward>>({"SiluGradient", {kFloat, kFloat}, 1});
}

const OrtCustomOp* bias_silu() {
  return make_operator<BiasActivation<biased_forward>>({"BiasSilu", {kFloat, kFloat}, 1});
}

const OrtCustomOp* bias_silu_gradient() {
  return make_operator<BiasActivationGradient<biased_backward>>(
      {"BiasSiluGradient", {kFloat, kFloat, kFloat}, 2});
}

const OrtCustomOp* gated_silu() {
  return make_operator<GatedSilu>({"GatedSilu", {kFloat, kFloat}, 1});
}

const OrtCustomOp* gated_silu_gradient() {
  return make_operator<GatedSiluGradient>({"GatedSiluGradient", {kFloat, kFloat, kFloat}, 2});
}

}  // namespace device_kernels
