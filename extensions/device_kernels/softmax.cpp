// SoftmaxGradient: dY, Y -> dX = Y (dY - sum of dY Y), over the last axis.

#include <algorithm>

#include "kernels.h"

namespace device_kernels {

namespace {

FOR_EACH_PROCESSOR void rows_gradient(const float* __restrict dy, const float* __restrict y,
                                      float* __restrict dx, int64_t rows, int64_t size) {
  for (int64_t row = 0; row < rows; ++row, dy += size, y += size, dx += size) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < size; ++i) sum += dy[i] * y[i];
    for (int64_t i = 0; i < size; ++i) dx[i] = y[i] * (dy[i] - sum);
  }
}

struct SoftmaxGradient {
  SoftmaxGradient(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    require(!shape.empty() && run.shape(1) == shape, "dY and Y do not fit");
    const int64_t size = shape.back(), rows = product(shape, 0, shape.size() - 1);
    const float *dy = run.input<float>(0), *y = run.input<float>(1);
    float* dx = run.output(0, shape);
    const int64_t in_part = pieces_per_part(size);
    run.parallel((rows + in_part - 1) / in_part, [&](int64_t part) {
      const int64_t begin = part * in_part, at = begin * size;
      rows_gradient(dy + at, y + at, dx + at, std::min(in_part, rows - begin), size);
    });
  }
};

}  // namespace

const OrtCustomOp* softmax_gradient() {
  return make_operator<SoftmaxGradient>({"SoftmaxGradient", {kFloat, kFloat}, 1});
}

}  // namespace device_kernels
