// Attention: Q, K, V, mask, seed -> Y = softmax(scale Q Kᵀ + mask) V, and of each row of the scores its
// largest and one over its sum of powers, from which the gradient computes the probabilities again.
// AttentionGradient: dY, Q, K, V, mask, seed, those two of each row -> dQ, dK, dV. With P the probabilities,
//     dV = Pᵀ dY,  dP = dY Vᵀ,  dS = P (dP - sum of P dP over a row),  dQ = scale dS K,  dK = scale dSᵀ Q.
//
// The probabilities are never in memory: there are those of kBlock queries of one head at a time. The
// tensors may be stored with their axes in any order: `query_axes` and so on say which axis of the tensor
// is each of heads..., position, channel. The mask is broadcast to the scores; it is one zero where there
// is none. With `empty_rows`, a query whose keys are all masked gets zeros, as where the probabilities
// are masked again after softmax. With `dropout`, that share of the probabilities is dropped before they
// weigh V, and the rest is divided by what stays: which ones depends on the seed, the node's `stream` and the
// place of the probability alone, so the gradient drops the same.

#include <algorithm>
#include <limits>
#include <string>

#include "dropped.h"
#include "exponential.h"
#include "kernels.h"
#include "matrix_product.h"
#include "scratch.h"

namespace device_kernels {

namespace {

constexpr int64_t kBlock = 64;  // queries
constexpr float kMasked = -1e29f;

// Where the matrix of each head is in a tensor.
struct Layout {
  Shape heads, head_steps;
  int64_t rows = 0, columns = 0, row_step = 0, column_step = 0;

  Layout(const Shape& shape, const std::string& axes) {
    require(axes.size() == shape.size() && shape.size() >= 2, "an input has another rank than its axes");
    Shape steps(shape.size(), 1);
    for (size_t axis = shape.size() - 1; axis > 0; --axis)
      steps[axis - 1] = steps[axis] * shape[axis];
    for (size_t place = 0; place < axes.size(); ++place) {
      const size_t axis = static_cast<size_t>(axes[place] - '0');
      require(axis < shape.size(), "axes are not those of the input");
      heads.push_back(shape[axis]);
      head_steps.push_back(steps[axis]);
    }
    columns = heads.back(), column_step = head_steps.back();
    heads.pop_back(), head_steps.pop_back();
    rows = heads.back(), row_step = head_steps.back();
    heads.pop_back(), head_steps.pop_back();
  }

  int64_t count() const { return elements(heads); }

  int64_t offset(int64_t head) const {
    int64_t at = 0;
    for (size_t axis = heads.size(); axis-- > 0; head /= heads[axis])
      at += head % heads[axis] * head_steps[axis];
    return at;
  }
};

// The shape of a tensor whose matrices are as those of `like` but with so many columns.
Shape stored_shape(const Layout& like, int64_t columns, const std::string& axes) {
  Shape sizes = like.heads;
  sizes.push_back(like.rows), sizes.push_back(columns);
  require(axes.size() == sizes.size(), "the result has another rank than its axes");
  Shape shape(sizes.size());
  for (size_t place = 0; place < sizes.size(); ++place)
    shape[static_cast<size_t>(axes[place] - '0')] = sizes[place];
  return shape;
}

// The mask of each head, broadcast: a step is 0 on an axis of size 1.
struct Mask {
  const float* values;
  Shape heads, head_steps;
  int64_t row_step = 0, column_step = 0;
  bool none;

  Mask(const float* mask, const Shape& shape, const Layout& query, int64_t keys)
      : values(mask), heads(query.heads) {
    Shape scores = heads;
    scores.push_back(query.rows), scores.push_back(keys);
    require(shape.size() <= scores.size(), "the mask has more axes than the scores");
    Shape steps(scores.size(), 0);
    int64_t step = 1;
    for (size_t back = 1; back <= shape.size(); ++back) {
      const int64_t size = shape[shape.size() - back];
      require(size == 1 || size == scores[scores.size() - back], "the mask does not fit the scores");
      steps[scores.size() - back] = size == 1 ? 0 : step;
      step *= size;
    }
    none = elements(shape) == 1 && mask[0] == 0.0f;
    column_step = steps.back(), steps.pop_back();
    row_step = steps.back(), steps.pop_back();
    head_steps = steps;
  }

  const float* of(int64_t head) const {
    if (none) return nullptr;
    const float* at = values;
    for (size_t axis = heads.size(); axis-- > 0; head /= heads[axis])
      at += head % heads[axis] * head_steps[axis];
    return at;
  }
};

// One head: sizes, rounded up to what products need, and the mask.
struct Head {
  int64_t queries, keys, channels, values;  // `values` is the width of V
  int64_t wide_keys, wide_channels, wide_values;
  int64_t key_step;  // between rows of so many keys
  float scale;
  bool empty_rows;
  const float* mask;
  int64_t mask_row_step, mask_column_step;
  int64_t index;
  Dropped dropped;
};

struct Read {
  const float* values;
  int64_t row_step, column_step;
};
struct Written {
  float* values;
  int64_t row_step, column_step;
};

// Rows of a strided matrix times `factor`, each filled up with zeros to `width`.
INTO_THE_CALLER void copy_rows(const float* from, int64_t row_step, int64_t column_step, int64_t rows,
                               int64_t columns, float factor, float* __restrict to, int64_t width) {
  for (int64_t i = 0; i < rows; ++i, from += row_step, to += width) {
    if (column_step == 1)
      for (int64_t j = 0; j < columns; ++j) to[j] = factor * from[j];
    else
      for (int64_t j = 0; j < columns; ++j) to[j] = factor * from[j * column_step];
    for (int64_t j = columns; j < width; ++j) to[j] = 0.0f;
  }
}

// The transposed of a strided matrix, each row filled up with zeros to `width`. A few rows at a time: what is
// read of a row stays in the cache until the rest of its line is wanted.
INTO_THE_CALLER void copy_turned(const Read& from, int64_t rows, int64_t columns,
                                 float* __restrict to, int64_t width, int64_t step) {
  constexpr int64_t kRows = 16;
  for (int64_t begin = 0; begin < width; begin += kRows) {
    const int64_t end = std::min(begin + kRows, width), known = std::min(end, rows);
    for (int64_t j = 0; j < columns; ++j) {
      const float* values = from.values + j * from.column_step;
      for (int64_t i = begin; i < known; ++i) to[j * step + i] = values[i * from.row_step];
      for (int64_t i = std::max(begin, known); i < end; ++i) to[j * step + i] = 0.0f;
    }
  }
}

INTO_THE_CALLER void write_rows(const float* __restrict from, int64_t width, int64_t rows,
                                int64_t columns, float factor, float* to, int64_t row_step,
                                int64_t column_step) {
  for (int64_t i = 0; i < rows; ++i, from += width, to += row_step) {
    if (column_step == 1)
      for (int64_t j = 0; j < columns; ++j) to[j] = factor * from[j];
    else
      for (int64_t j = 0; j < columns; ++j) to[j * column_step] = factor * from[j];
  }
}

INTO_THE_CALLER void add_mask(const Head& head, int64_t query, float* __restrict scores) {
  if (head.mask == nullptr) return;
  const float* __restrict mask = head.mask + query * head.mask_row_step;
  if (head.mask_column_step == 1)
    for (int64_t j = 0; j < head.keys; ++j) scores[j] += mask[j];
  else
    for (int64_t j = 0; j < head.keys; ++j) scores[j] += mask[0];
}

// Whether the mask, and not the scores, leaves a query without a key.
INTO_THE_CALLER bool all_masked(const Head& head, int64_t query) {
  if (head.mask == nullptr) return head.keys == 0;
  const float* mask = head.mask + query * head.mask_row_step;
  for (int64_t j = 0; j < head.keys; ++j)
    if (!(mask[j * head.mask_column_step] < kMasked)) return false;
  return true;
}

INTO_THE_CALLER float largest_of(const float* __restrict scores, int64_t count) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (int64_t j = 0; j < count; ++j) largest = scores[j] > largest ? scores[j] : largest;
  return largest;
}

FOR_EACH_PROCESSOR void forward(const Head& head, Read q, Read k, Read v, Written y, float* largest,
                                float* inverse, float* scratch) {
  // Kᵀ, V, of a block of queries Q, the scores, and Y, and of one query what is dropped.
  float* keys = scratch;
  float* values = keys + head.channels * head.key_step;
  float* queries = values + head.keys * head.wide_values;
  float* scores = queries + kBlock * head.channels;
  float* sums = scores + kBlock * head.key_step;
  float* kept = sums + kBlock * head.wide_values;
  copy_turned(k, head.keys, head.channels, keys, head.wide_keys, head.key_step);
  copy_rows(v.values, v.row_step, v.column_step, head.keys, head.values, 1.0f, values,
            head.wide_values);
  for (int64_t begin = 0; begin < head.queries; begin += kBlock) {
    const int64_t rows = std::min(kBlock, head.queries - begin);
    const int64_t tall = rounded_up(rows, kTileRows);
    copy_rows(q.values + begin * q.row_step, q.row_step, q.column_step, rows, head.channels,
              head.scale, queries, head.channels);
    std::fill(queries + rows * head.channels, queries + tall * head.channels, 0.0f);
    multiply(tall, head.wide_keys, head.channels, {queries, head.channels, 1}, keys, head.key_step,
             scores, head.key_step, false);
    for (int64_t i = 0; i < rows; ++i) {
      float* __restrict row = scores + i * head.key_step;
      add_mask(head, begin + i, row);
      const float most = largest_of(row, head.keys);
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < head.keys; ++j) {
        row[j] = exponential_or_zero(row[j] - most);
        sum += row[j];
      }
      const bool empty =
          head.keys == 0 || (head.empty_rows && most < kMasked && all_masked(head, begin + i));
      largest[begin + i] = empty ? 0.0f : most;
      inverse[begin + i] = empty ? 0.0f : 1.0f / sum;
      if (!head.dropped.any()) continue;
      head.dropped.factors(head.index, begin + i, head.keys, kept);
      for (int64_t j = 0; j < head.keys; ++j) row[j] *= kept[j];
    }
    multiply(tall, head.wide_values, head.keys, {scores, head.key_step, 1}, values,
             head.wide_values, sums, head.wide_values, false);
    for (int64_t i = 0; i < rows; ++i) {
      const float factor = inverse[begin + i];
      float* __restrict row = sums + i * head.wide_values;
      // Where all keys are masked by -infinity the powers are NaN.
      if (head.empty_rows && factor == 0.0f)
        std::fill_n(row, head.values, 0.0f);
      else
        for (int64_t j = 0; j < head.values; ++j) row[j] *= factor;
    }
    write_rows(sums, head.wide_values, rows, head.values, 1.0f, y.values + begin * y.row_step,
               y.row_step, y.column_step);
  }
}

FOR_EACH_PROCESSOR void backward(const Head& head, Read dy, Read q, Read k, Read v,
                                 const float* largest, const float* inverse, Written dq, Written dk,
                                 Written dv, float* scratch) {
  // K and V as they are and transposed, sums of their gradients, and of a block of queries Q, dY, the
  // probabilities, dS, and dQ; of one query, what is dropped.
  float* keys = scratch;
  float* turned_keys = keys + head.keys * head.wide_channels;
  float* turned_values = turned_keys + head.channels * head.key_step;
  float* key_sums = turned_values + head.values * head.key_step;
  float* value_sums = key_sums + head.wide_keys * head.wide_channels;
  float* queries = value_sums + head.wide_keys * head.wide_values;
  float* upstream = queries + kBlock * head.wide_channels;
  float* chances = upstream + kBlock * head.wide_values;
  float* slopes = chances + kBlock * head.key_step;
  float* query_sums = slopes + kBlock * head.key_step;
  float* kept = query_sums + kBlock * head.wide_channels;
  copy_rows(k.values, k.row_step, k.column_step, head.keys, head.channels, 1.0f, keys,
            head.wide_channels);
  copy_turned(k, head.keys, head.channels, turned_keys, head.wide_keys, head.key_step);
  copy_turned(v, head.keys, head.values, turned_values, head.wide_keys, head.key_step);
  std::fill(key_sums, queries, 0.0f);
  for (int64_t begin = 0; begin < head.queries; begin += kBlock) {
    const int64_t rows = std::min(kBlock, head.queries - begin);
    const int64_t tall = rounded_up(rows, kTileRows);
    copy_rows(q.values + begin * q.row_step, q.row_step, q.column_step, rows, head.channels,
              head.scale, queries, head.wide_channels);
    copy_rows(dy.values + begin * dy.row_step, dy.row_step, dy.column_step, rows, head.values, 1.0f,
              upstream, head.wide_values);
    std::fill(queries + rows * head.wide_channels, queries + tall * head.wide_channels, 0.0f);
    std::fill(upstream + rows * head.wide_values, upstream + tall * head.wide_values, 0.0f);
    multiply(tall, head.wide_keys, head.channels, {queries, head.wide_channels, 1}, turned_keys,
             head.key_step, chances, head.key_step, false);
    multiply(tall, head.wide_keys, head.values, {upstream, head.wide_values, 1}, turned_values,
             head.key_step, slopes, head.key_step, false);
    for (int64_t i = 0; i < rows; ++i) {
      float* __restrict chance = chances + i * head.key_step;
      float* __restrict slope = slopes + i * head.key_step;
      add_mask(head, begin + i, chance);
      const float most = largest[begin + i], factor = inverse[begin + i];
      if (head.empty_rows && factor == 0.0f) {
        std::fill_n(chance, head.wide_keys, 0.0f);
        std::fill_n(slope, head.wide_keys, 0.0f);
        continue;
      }
      if (head.dropped.any()) {
        head.dropped.factors(head.index, begin + i, head.keys, kept);
        for (int64_t j = 0; j < head.keys; ++j) slope[j] *= kept[j];
      }
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < head.keys; ++j) {
        chance[j] = exponential_or_zero(chance[j] - most) * factor;
        sum += chance[j] * slope[j];
      }
      for (int64_t j = 0; j < head.keys; ++j) slope[j] = chance[j] * (slope[j] - sum);
      if (head.dropped.any())
        for (int64_t j = 0; j < head.keys; ++j) chance[j] *= kept[j];
      std::fill(chance + head.keys, chance + head.wide_keys, 0.0f);
      std::fill(slope + head.keys, slope + head.wide_keys, 0.0f);
    }
    multiply(tall, head.wide_channels, head.keys, {slopes, head.key_step, 1}, keys,
             head.wide_channels, query_sums, head.wide_channels, false);
    write_rows(query_sums, head.wide_channels, rows, head.channels, head.scale,
               dq.values + begin * dq.row_step, dq.row_step, dq.column_step);
    multiply(head.wide_keys, head.wide_channels, rows, {slopes, 1, head.key_step}, queries,
             head.wide_channels, key_sums, head.wide_channels, true);
    multiply(head.wide_keys, head.wide_values, rows, {chances, 1, head.key_step}, upstream,
             head.wide_values, value_sums, head.wide_values, true);
  }
  write_rows(key_sums, head.wide_channels, head.keys, head.channels, 1.0f, dk.values, dk.row_step,
             dk.column_step);
  write_rows(value_sums, head.wide_values, head.keys, head.values, 1.0f, dv.values, dv.row_step,
             dv.column_step);
}

// What both passes know of their inputs.
struct Attending {
  std::string query_axes, key_axes, value_axes, result_axes;
  float scale;
  bool empty_rows;
  float dropout;
  int64_t stream;

  Attending(const OrtApi& api, const OrtKernelInfo* info)
      : query_axes(text_attribute(api, info, "query_axes")),
        key_axes(text_attribute(api, info, "key_axes")),
        value_axes(text_attribute(api, info, "value_axes")),
        result_axes(text_attribute(api, info, "result_axes")),
        scale(real_attribute(api, info, "scale", 1.0f)),
        empty_rows(integer_attribute(api, info, "empty_rows", 0) != 0),
        dropout(real_attribute(api, info, "dropout", 0.0f)),
        stream(integer_attribute(api, info, "stream", 0)) {
    require(0.0f <= dropout && dropout < 1.0f, "dropout is not from 0 to below 1");
  }

  Head head(const Layout& q, const Layout& k, const Layout& v, const Mask& mask,
            int64_t seed) const {
    require(q.heads == k.heads && k.heads == v.heads && q.columns == k.columns && k.rows == v.rows,
            "Q, K and V do not fit");
    Head found{};
    found.queries = q.rows, found.keys = k.rows, found.channels = q.columns, found.values = v.columns;
    found.wide_keys = rounded_up(k.rows, kLeastColumns);
    // Rows that are multiples of a kilobyte apart would share a few lines of the cache.
    found.key_step = found.wide_keys + (found.wide_keys % 256 == 0 ? kLeastColumns : 0);
    found.wide_channels = rounded_up(q.columns, kLeastColumns);
    found.wide_values = rounded_up(v.columns, kLeastColumns);
    found.scale = scale, found.empty_rows = empty_rows;
    found.mask_row_step = mask.row_step, found.mask_column_step = mask.column_step;
    found.dropped = Dropped(dropout, static_cast<uint64_t>(seed), stream);
    return found;
  }
};

struct Attention : Attending {
  using Attending::Attending;

  void compute(const Run& run) const {
    const Layout q(run.shape(0), query_axes), k(run.shape(1), key_axes), v(run.shape(2), value_axes);
    const Mask mask(run.input<float>(3), run.shape(3), q, k.rows);
    const Head sizes = head(q, k, v, mask, *run.input<int64_t>(4));
    const float *queries = run.input<float>(0), *keys = run.input<float>(1);
    const float* values = run.input<float>(2);
    const Shape shape = stored_shape(q, v.columns, result_axes);
    Shape of_row = q.heads;
    of_row.push_back(q.rows);
    float *made = run.output(0, shape), *largest = run.output(1, of_row);
    float* inverse = run.output(2, of_row);
    const Layout y(shape, result_axes);
    const int64_t scratch = (sizes.channels + kBlock) * sizes.key_step + kBlock * sizes.channels +
                            (sizes.keys + kBlock) * sizes.wide_values +
                            sizes.dropped.room(sizes.keys);
    run.parallel(q.count(), [&](int64_t index) {
      Head one = sizes;
      one.mask = mask.of(index), one.index = index;
      forward(one, {queries + q.offset(index), q.row_step, q.column_step},
              {keys + k.offset(index), k.row_step, k.column_step},
              {values + v.offset(index), v.row_step, v.column_step},
              {made + y.offset(index), y.row_step, y.column_step}, largest + index * q.rows,
              inverse + index * q.rows, scratch_of(scratch));
    });
  }
};

struct AttentionGradient : Attending {
  using Attending::Attending;

  void compute(const Run& run) const {
    const Shape of_query = run.shape(1), of_key = run.shape(2), of_value = run.shape(3);
    const Layout dy(run.shape(0), result_axes), q(of_query, query_axes), k(of_key, key_axes);
    const Layout v(of_value, value_axes);
    const Mask mask(run.input<float>(4), run.shape(4), q, k.rows);
    const Head sizes = head(q, k, v, mask, *run.input<int64_t>(5));
    require(dy.heads == q.heads && dy.rows == q.rows && dy.columns == v.columns, "dY does not fit");
    require(elements(run.shape(6)) == q.count() * q.rows &&
                elements(run.shape(7)) == q.count() * q.rows,
            "there is not one largest score and one sum for each query");
    const float *upstream = run.input<float>(0), *queries = run.input<float>(1);
    const float *keys = run.input<float>(2), *values = run.input<float>(3);
    const float *largest = run.input<float>(6), *inverse = run.input<float>(7);
    float *dq = run.output(0, of_query), *dk = run.output(1, of_key), *dv = run.output(2, of_value);
    const int64_t scratch =
        (sizes.keys + sizes.wide_keys + 2 * kBlock) * sizes.wide_channels +
        (sizes.channels + sizes.values + 2 * kBlock) * sizes.key_step +
        (sizes.wide_keys + kBlock) * sizes.wide_values + sizes.dropped.room(sizes.keys);
    run.parallel(q.count(), [&](int64_t index) {
      Head one = sizes;
      one.mask = mask.of(index), one.index = index;
      backward(one, {upstream + dy.offset(index), dy.row_step, dy.column_step},
               {queries + q.offset(index), q.row_step, q.column_step},
               {keys + k.offset(index), k.row_step, k.column_step},
               {values + v.offset(index), v.row_step, v.column_step}, largest + index * q.rows,
               inverse + index * q.rows, {dq + q.offset(index), q.row_step, q.column_step},
               {dk + k.offset(index), k.row_step, k.column_step},
               {dv + v.offset(index), v.row_step, v.column_step}, scratch_of(scratch));
    });
  }
};

}  // namespace

const OrtCustomOp* attention() {
  return make_operator<Attention>({"Attention", {kFloat, kFloat, kFloat, kFloat, kInteger}, 3});
}

const OrtCustomOp* attention_gradient() {
  return make_operator<AttentionGradient>(
      {"AttentionGradient",
       {kFloat, kFloat, kFloat, kFloat, kFloat, kInteger, kFloat, kFloat},
       3});
}

}  // namespace device_kernels
