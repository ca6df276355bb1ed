// EmbeddingGradient: shape of the table, indices, dY -> dTable: each row of dY is added to that row
// of the table which was looked up.

#include <algorithm>

#include "kernels.h"

namespace device_kernels {

namespace {

FOR_EACH_PROCESSOR void add_rows(const float* __restrict dy, const int64_t* indices, int64_t count,
                                 int64_t rows, int64_t size, float* __restrict table, int64_t begin,
                                 int64_t end) {
  for (int64_t row = 0; row < count; ++row) {
    const int64_t index = indices[row] < 0 ? indices[row] + rows : indices[row];
    float* sums = table + index * size;
    const float* values = dy + row * size;
    for (int64_t i = begin; i < end; ++i) sums[i] += values[i];
  }
}

struct EmbeddingGradient {
  EmbeddingGradient(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    require(run.shape(0).size() == 1, "the shape is not a vector");
    const int64_t* sizes = run.input<int64_t>(0);
    const Shape shape(sizes, sizes + run.shape(0)[0]);
    require(!shape.empty(), "the table has no axis");
    const int64_t rows = shape[0], size = product(shape, 1, shape.size());
    const int64_t count = elements(run.shape(1));
    require(elements(run.shape(2)) == count * size, "dY does not fit the indices and the table");
    const int64_t* indices = run.input<int64_t>(1);
    for (int64_t i = 0; i < count; ++i)
      require(-rows <= indices[i] && indices[i] < rows, "an index is not in the table");
    const float* dy = run.input<float>(2);
    float* table = run.output(0, shape);

    const int64_t cells = rows * size, at_once = pieces_per_part(1);
    run.parallel((cells + at_once - 1) / at_once, [&](int64_t part) {
      std::fill(table + part * at_once, table + std::min(cells, (part + 1) * at_once), 0.0f);
    });
    // Each part has some columns of all rows: no element is written by two threads, and the order of a
    // sum does not depend on their number.
    constexpr int64_t kColumns = 64;
    const int64_t parts = (size + kColumns - 1) / kColumns;
    run.parallel(parts, [&](int64_t part) {
      const int64_t begin = part * kColumns, end = std::min(size, begin + kColumns);
      add_rows(dy, indices, count, rows, size, table, begin, end);
    });
  }
};

}  // namespace

const OrtCustomOp* embedding_gradient() {
  return make_operator<EmbeddingGradient>({"EmbeddingGradient", {kInteger, kInteger, kFloat}, 1});
}

}  // namespace device_kernels
