// ReluGradient: dY, Y -> dX = dY where Y is not 0 or less; X may take the place of Y.

#include <algorithm>

#include "kernels.h"

namespace device_kernels {

namespace {

// `dx` may be `dy`.
FOR_EACH_PROCESSOR void gradient(const float* dy, const float* __restrict y, float* dx,
                                 int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) dx[i] = y[i] <= 0 ? 0 : dy[i];
}

struct ReluGradient {
  ReluGradient(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    require(run.shape(1) == shape, "dY and Y differ in shape");
    const float *dy = run.input<float>(0), *y = run.input<float>(1);
    float* dx = run.output(0, shape);
    const int64_t count = elements(shape), size = pieces_per_part(1);
    run.parallel((count + size - 1) / size, [&](int64_t part) {
      const int64_t at = part * size;
      gradient(dy + at, y + at, dx + at, std::min(size, count - at));
    });
  }
};

}  // namespace

template <>
constexpr int kOverwritten<ReluGradient> = 0;

const OrtCustomOp* relu_gradient() {
  return make_operator<ReluGradient>({"ReluGradient", {kFloat, kFloat}, 1});
}

}  // namespace device_kernels
