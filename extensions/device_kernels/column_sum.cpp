// ColumnSum: X -> the sum over its first `axes` axes, as the gradient of a bias is.

#include <algorithm>

#include "kernels.h"

namespace device_kernels {

namespace {

FOR_EACH_PROCESSOR void add_rows(const float* __restrict rows, int64_t count, int64_t stride,
                                 float* __restrict sums, int64_t size) {
  // Four at once: the sums are read and written once for all of them.
  int64_t row = 0;
  for (; row + 4 <= count; row += 4) {
    const float* a = rows + row * stride;
    for (int64_t i = 0; i < size; ++i)
      sums[i] += (a[i] + a[stride + i]) + (a[2 * stride + i] + a[3 * stride + i]);
  }
  for (; row < count; ++row)
    for (int64_t i = 0; i < size; ++i) sums[i] += rows[row * stride + i];
}

struct ColumnSum {
  int64_t axes;

  ColumnSum(const OrtApi& api, const OrtKernelInfo* info)
      : axes(integer_attribute(api, info, "axes", 1)) {}

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    require(0 < axes && axes <= static_cast<int64_t>(shape.size()), "X has fewer axes");
    const int64_t rows = product(shape, 0, axes), size = product(shape, axes, shape.size());
    const float* x = run.input<float>(0);
    float* sums = run.output(0, Shape(shape.begin() + axes, shape.end()));
    std::fill_n(sums, size, 0.0f);

    // Parts of the rows, each with sums of its own that are added in order.
    const int64_t in_part = pieces_per_part(size), parts = (rows + in_part - 1) / in_part;
    std::vector<float> partial(std::max<int64_t>(parts, 1) * size);
    run.parallel(parts, [&](int64_t part) {
      const int64_t begin = part * in_part;
      add_rows(x + begin * size, std::min(in_part, rows - begin), size,
               partial.data() + part * size, size);
    });
    add_rows(partial.data(), parts, size, sums, size);
  }
};

}  // namespace

const OrtCustomOp* column_sum() { return make_operator<ColumnSum>({"ColumnSum", {kFloat}, 1}); }

}  // namespace device_kernels
