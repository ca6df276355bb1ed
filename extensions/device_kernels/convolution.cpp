// Convolution: X, W, B -> Y.
// ConvolutionGradient: dY, X, W -> dX, dW, dB. ConvolutionWeightGradient: the same without dX, as for a
// first layer.
//
// Pictures stay as they are stored, with a border of zeros where the window goes beyond them, and the
// channels of a result are side by side in a register. dX is a convolution of dY, for each remainder of a
// place's row and column by the strides one of its own, with the weights that reach such places.

#include <algorithm>

#include "gathered_product.h"
#include "kernels.h"
#include "scratch.h"
#include "transpose.h"
#include "window.h"

namespace device_kernels {

namespace {

int64_t rounded_up_quotient(int64_t value, int64_t divisor) {
  return value > 0 ? (value + divisor - 1) / divisor : 0;
}

// A picture with zeros around it.
struct Bordered {
  int64_t height, width, top, left, full_height, full_width;

  Bordered(int64_t height, int64_t width, int64_t top, int64_t bottom, int64_t left, int64_t right)
      : height(height), width(width), top(top), left(left), full_height(height + top + bottom),
        full_width(width + left + right) {}

  int64_t plane() const { return full_height * full_width; }
  bool plain() const { return plane() == height * width; }
  int64_t scratch(int64_t channels) const { return plain() ? 0 : channels * plane(); }

  // The picture itself where it needs no zeros, else a copy in `scratch`.
  const float* of(const float* picture, int64_t channels, float* scratch) const {
    if (plain()) return picture;
    std::fill_n(scratch, channels * plane(), 0.0f);
    for (int64_t channel = 0; channel < channels; ++channel) {
      float* rows = scratch + channel * plane() + top * full_width + left;
      for (int64_t row = 0; row < height; ++row, picture += width, rows += full_width)
        std::copy_n(picture, width, rows);
    }
    return scratch;
  }
};

// Some of a result's places, and what all of its channels there are computed from.
struct Places {
  std::vector<int64_t> starts, targets, offsets;
  std::vector<float> weights, biases;  // a row for each offset; one row

  int64_t count() const { return static_cast<int64_t>(starts.size()); }
  int64_t inner() const { return static_cast<int64_t>(offsets.size()); }
};

FOR_EACH_PROCESSOR void convolve(const Places& places, int64_t begin, int64_t end,
                                 const float* picture, int64_t channels, float* result,
                                 int64_t plane) {
  const int64_t width = rounded_up(channels, kLeastColumns);
  multiply_gathered(
      picture, places.starts.data() + begin, end - begin, places.offsets.data(), places.inner(),
      {places.weights.data(), places.biases.data(), width},
      [&](int64_t first, int64_t channel, int64_t columns, const float* made) {
        const int64_t rows = std::min(kTileRows, end - begin - first);
        const int64_t known = std::min(columns, channels - channel);
        const int64_t* targets = places.targets.data() + begin + first;
        const bool adjacent = rows == kTileRows && targets[kTileRows - 1] - targets[0] == kTileRows - 1;
        float* of_channel = result + channel * plane;
        int64_t j = 0;
        for (; adjacent && j + kBlockSize <= known; j += kBlockSize)
          transpose_block(made + j, columns, of_channel + j * plane + targets[0], plane);
        for (; j < known; ++j)
          for (int64_t i = 0; i < rows; ++i) of_channel[j * plane + targets[i]] = made[i * columns + j];
      });
}

// The transposed of some places of dY, a row for each, and the sums over them added to `sums`. `plane` is how
// many places there are.
FOR_EACH_PROCESSOR void turn(const float* dy, int64_t channels, int64_t plane, int64_t places,
                             float* __restrict turned, int64_t width, float* __restrict sums) {
  const int64_t whole = places / kBlockSize * kBlockSize;
  int64_t channel = 0;
  for (; channel + kBlockSize <= channels; channel += kBlockSize) {
    const float* rows = dy + channel * plane;
    for (int64_t i = 0; i < whole; i += kBlockSize)
      transpose_block(rows + i, plane, turned + i * width + channel, width);
    for (int64_t i = whole; i < places; ++i)
      for (int64_t j = 0; j < kBlockSize; ++j) turned[i * width + channel + j] = rows[j * plane + i];
  }
  for (int64_t i = 0; i < places; ++i)
    for (int64_t j = channel; j < width; ++j)
      turned[i * width + j] = j < channels ? dy[j * plane + i] : 0.0f;
  for (int64_t j = 0; j < channels; ++j) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < places; ++i) sum += dy[j * plane + i];
    sums[j] += sum;
  }
}

FOR_EACH_PROCESSOR void add_weights(const float* picture, const std::vector<int64_t>& taps,
                                    const int64_t* starts, int64_t places, const float* turned,
                                    const float* zeros, int64_t width, float* sums) {
  const int64_t count = static_cast<int64_t>(taps.size());
  multiply_gathered(picture, taps.data(), count, starts, places, {turned, zeros, width},
                    [&](int64_t first, int64_t column, int64_t columns, const float* made) {
                      const int64_t rows = std::min(kTileRows, count - first);
                      for (int64_t i = 0; i < rows; ++i) {
                        float* __restrict row = sums + (first + i) * width + column;
                        for (int64_t j = 0; j < columns; ++j) row[j] += made[i * columns + j];
                      }
                    });
}

// Rows of sums, one after another for each part, added in order and written as columns.
FOR_EACH_PROCESSOR void add_parts(const float* sums, int64_t parts, int64_t step, int64_t begin,
                                  int64_t end, int64_t width, int64_t filters, int64_t taps,
                                  float* dw) {
  for (int64_t tap = begin; tap < end; ++tap) {
    for (int64_t filter = 0; filter < filters; ++filter) {
      const float* values = sums + tap * width + filter;
      float sum = values[0];
      for (int64_t part = 1; part < parts; ++part) sum += values[part * step];
      dw[filter * taps + tap] = sum;
    }
  }
}

// What all three know of their inputs.
struct Convolving {
  Window window;
  int64_t groups;

  Convolving(const OrtApi& api, const OrtKernelInfo* info)
      : window(api, info), groups(integer_attribute(api, info, "groups", 1)) {}

  void check_weights(const Pictures& x, const Shape& weights) const {
    require(weights.size() >= 3 && groups > 0 && weights[0] % groups == 0 &&
                weights[1] * groups == x.channels &&
                product(weights, 2, weights.size()) == window.area(),
            "X and W do not fit");
  }

  Bordered around(const Pictures& x) const {
    return {x.height, x.width, window.top, window.bottom, window.left, window.right};
  }

  // Where each window begins, and where the values that it covers lie after that, in a bordered picture.
  std::vector<int64_t> starts(const Pictures& x, const Bordered& bordered) const {
    std::vector<int64_t> found;
    const int64_t rows = window.rows(x), columns = window.columns(x);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        found.push_back(row * window.row_stride * bordered.full_width +
                        column * window.column_stride);
    return found;
  }
  std::vector<int64_t> taps(int64_t channels, const Bordered& bordered) const {
    std::vector<int64_t> found;
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t a = 0; a < window.height; ++a)
        for (int64_t b = 0; b < window.width; ++b)
          found.push_back(channel * bordered.plane() + a * window.row_dilation * bordered.full_width +
                          b * window.column_dilation);
    return found;
  }
};

// Multiplications that are worth a thread.
constexpr int64_t kWork = 1 << 19;

// Results of all pictures, in parts that are some pictures, or some places of one where there are few.
void convolve_all(const Run& run, int64_t count, const Places& places, const Bordered& bordered,
                  const float* pictures, int64_t picture_step, int64_t channels_in,
                  int64_t channels_out, float* results, int64_t result_step, int64_t plane) {
  if (count == 0) return;
  const int64_t work = std::max<int64_t>(
      places.count() * places.inner() * rounded_up(channels_out, kLeastColumns), 1);
  const int64_t in_part = std::max<int64_t>(1, std::min(kWork / work, count / 16));
  const int64_t groups = (count + in_part - 1) / in_part;
  const int64_t cuts = in_part > 1 ? 1 : std::max<int64_t>(1, std::min(work / kWork, 16 / count));
  const int64_t in_cut = rounded_up((places.count() + cuts - 1) / cuts, kTileRows);
  run.parallel(groups * cuts, [&](int64_t part) {
    const int64_t last = std::min(count, (part / cuts + 1) * in_part);
    const int64_t begin = part % cuts * in_cut, end = std::min(places.count(), begin + in_cut);
    if (begin >= end) return;
    float* scratch = scratch_of(bordered.scratch(channels_in));
    for (int64_t index = part / cuts * in_part; index < last; ++index) {
      const float* picture = bordered.of(pictures + index * picture_step, channels_in, scratch);
      convolve(places, begin, end, picture, channels_out, results + index * result_step, plane);
    }
  });
}

struct Convolution : Convolving {
  using Convolving::Convolving;

  void compute(const Run& run) const {
    const Shape shape = run.shape(0), of_weights = run.shape(1);
    const Pictures x(shape);
    check_weights(x, of_weights);
    const int64_t filters = of_weights[0] / groups, channels = of_weights[1];
    const int64_t biases = elements(run.shape(2));
    require(biases == of_weights[0] || biases == 1, "B does not fit W");
    const float *pictures = run.input<float>(0), *weights = run.input<float>(1);
    const float* bias = biases == of_weights[0] ? run.input<float>(2) : nullptr;
    float* y = run.output(0, window.result(shape, of_weights[0]));
    const Bordered bordered = around(x);
    Places places;
    places.starts = starts(x, bordered), places.offsets = taps(channels, bordered);
    for (int64_t place = 0; place < places.count(); ++place) places.targets.push_back(place);
    const int64_t width = rounded_up(filters, kLeastColumns), inner = places.inner();
    for (int64_t group = 0; group < groups; ++group) {
      places.weights.assign(static_cast<size_t>(inner * width), 0.0f);
      places.biases.assign(static_cast<size_t>(width), 0.0f);
      if (bias != nullptr) std::copy_n(bias + group * filters, filters, places.biases.data());
      const float* own = weights + group * filters * inner;
      for (int64_t filter = 0; filter < filters; ++filter)
        for (int64_t tap = 0; tap < inner; ++tap)
          places.weights[tap * width + filter] = own[filter * inner + tap];
      convolve_all(run, x.count, places, bordered, pictures + group * channels * x.places(),
                   x.channels * x.places(), channels, filters,
                   y + group * filters * places.count(), of_weights[0] * places.count(),
                   places.count());
    }
  }
};

// Of dY, X, W.
struct Gradients : Convolving {
  using Convolving::Convolving;

  void check_inputs(const Run& run) const {
    const Shape shape = run.shape(1), of_weights = run.shape(2);
    check_weights(Pictures(shape), of_weights);
    require(run.shape(0) == window.result(shape, of_weights[0]), "dY and X do not fit");
  }

  void of_input(const Run& run, float* dx) const {
    const Shape of_weights = run.shape(2);
    const Pictures x(run.shape(1));
    const int64_t filters = of_weights[0] / groups, channels = of_weights[1];
    const int64_t rows = window.rows(x), columns = window.columns(x);
    const float *dy = run.input<float>(0), *weights = run.input<float>(2);
    // As far as the windows that reach the first and the last place would be beyond dY.
    const auto beyond = [](int64_t extent, int64_t before, int64_t stride) {
      return rounded_up_quotient(extent - before, stride);
    };
    const Bordered bordered(
        rows, columns, beyond((window.height - 1) * window.row_dilation, window.top, window.row_stride),
        std::max<int64_t>(0, (x.height - 1 + window.top) / window.row_stride - (rows - 1)),
        beyond((window.width - 1) * window.column_dilation, window.left, window.column_stride),
        std::max<int64_t>(0, (x.width - 1 + window.left) / window.column_stride - (columns - 1)));
    const int64_t width = rounded_up(channels, kLeastColumns);
    for (int64_t group = 0; group < groups; ++group) {
      for (int64_t row = 0; row < window.row_stride; ++row) {
        for (int64_t column = 0; column < window.column_stride; ++column) {
          Places places;
          places.biases.resize(static_cast<size_t>(width));
          choose(x, bordered, row, column, places);
          add_weights_of(weights + group * filters * channels * window.area(), filters, channels,
                         bordered, row, column, width, places);
          convolve_all(run, x.count, places, bordered, dy + group * filters * rows * columns,
                       of_weights[0] * rows * columns, filters, channels,
                       dx + group * channels * x.places(), x.channels * x.places(), x.places());
        }
      }
    }
  }

  void of_parameters(const Run& run, float* dw, float* db) const {
    const Shape of_weights = run.shape(2);
    const Pictures x(run.shape(1));
    const int64_t filters = of_weights[0] / groups, channels = of_weights[1];
    const float *dy = run.input<float>(0), *pictures = run.input<float>(1);
    const Bordered bordered = around(x);
    const std::vector<int64_t> starts = this->starts(x, bordered), taps = this->taps(channels, bordered);
    const int64_t places = static_cast<int64_t>(starts.size());
    const int64_t inner = static_cast<int64_t>(taps.size());
    const int64_t width = rounded_up(filters, kLeastColumns);

    // Each part has sums of its own, of the weights and then of the biases.
    constexpr int64_t kParts = 16, kSums = 1 << 20, kPlaces = 1024;
    const int64_t step = (inner + 1) * width, work = std::max<int64_t>(places * inner * width, 1);
    const int64_t most = std::max<int64_t>(1, std::min(kParts, kSums / step));
    const int64_t in_part = std::max({(x.count + most - 1) / most, kWork / work, int64_t{1}});
    const int64_t parts = std::max<int64_t>((x.count + in_part - 1) / in_part, 1);
    std::vector<float> sums(static_cast<size_t>(parts * step)), zeros(static_cast<size_t>(width));
    for (int64_t group = 0; group < groups; ++group) {
      std::fill(sums.begin(), sums.end(), 0.0f);
      run.parallel(parts, [&](int64_t part) {
        float* own = sums.data() + part * step;
        // A few places at a time: the transposed stays in the cache, and small where pictures are large.
        const int64_t block = std::min(kPlaces, places);
        float* turned = scratch_of(block * width + bordered.scratch(channels));
        float* scratch = turned + block * width;
        const int64_t end = std::min(x.count, (part + 1) * in_part);
        for (int64_t index = part * in_part; index < end; ++index) {
          const float* upstream = dy + (index * of_weights[0] + group * filters) * places;
          const float* picture = bordered.of(
              pictures + (index * x.channels + group * channels) * x.places(), channels, scratch);
          for (int64_t begin = 0; begin < places; begin += kPlaces) {
            const int64_t count = std::min(kPlaces, places - begin);
            turn(upstream + begin, filters, places, count, turned, width, own + inner * width);
            add_weights(picture, taps, starts.data() + begin, count, turned, zeros.data(), width, own);
          }
        }
      });
      const int64_t in_sum = pieces_per_part(parts * width);
      run.parallel((inner + in_sum - 1) / in_sum, [&](int64_t part) {
        add_parts(sums.data(), parts, step, part * in_sum, std::min(inner, (part + 1) * in_sum), width,
                  filters, inner, dw + group * filters * inner);
      });
      add_parts(sums.data() + inner * width, parts, step, 0, 1, width, filters, 1, db + group * filters);
    }
  }

 private:
  // The places of X whose row and column, counted from the border's, have these remainders.
  void choose(const Pictures& x, const Bordered& bordered, int64_t row, int64_t column,
              Places& places) const {
    for (int64_t i = 0; i < x.height; ++i) {
      if ((i + window.top) % window.row_stride != row) continue;
      for (int64_t j = 0; j < x.width; ++j) {
        if ((j + window.left) % window.column_stride != column) continue;
        places.starts.push_back(
            ((i + window.top) / window.row_stride + bordered.top) * bordered.full_width +
            (j + window.left) / window.column_stride + bordered.left);
        places.targets.push_back(i * x.width + j);
      }
    }
  }

  // The weights that reach them, for each from where in dY.
  void add_weights_of(const float* weights, int64_t filters, int64_t channels,
                      const Bordered& bordered, int64_t row, int64_t column, int64_t width,
                      Places& places) const {
    for (int64_t filter = 0; filter < filters; ++filter) {
      for (int64_t a = 0; a < window.height; ++a) {
        const int64_t down = a * window.row_dilation;
        if (down % window.row_stride != row) continue;
        for (int64_t b = 0; b < window.width; ++b) {
          const int64_t across = b * window.column_dilation;
          if (across % window.column_stride != column) continue;
          places.offsets.push_back(filter * bordered.plane() -
                                   down / window.row_stride * bordered.full_width -
                                   across / window.column_stride);
          const size_t at = places.weights.size();
          places.weights.resize(at + static_cast<size_t>(width));
          for (int64_t channel = 0; channel < channels; ++channel)
            places.weights[at + channel] =
                weights[(filter * channels + channel) * window.area() + a * window.width + b];
        }
      }
    }
  }
};

struct ConvolutionGradient : Gradients {
  using Gradients::Gradients;

  void compute(const Run& run) const {
    check_inputs(run);
    const Shape of_weights = run.shape(2);
    float *dx = run.output(0, run.shape(1)), *dw = run.output(1, of_weights);
    float* db = run.output(2, {of_weights[0]});
    of_input(run, dx);
    of_parameters(run, dw, db);
  }
};

struct ConvolutionWeightGradient : Gradients {
  using Gradients::Gradients;

  void compute(const Run& run) const {
    check_inputs(run);
    const Shape of_weights = run.shape(2);
    float *dw = run.output(0, of_weights), *db = run.output(1, {of_weights[0]});
    of_parameters(run, dw, db);
  }
};

}  // namespace

const OrtCustomOp* convolution() {
  return make_operator<Convolution>({"Convolution", {kFloat, kFloat, kFloat}, 1});
}

const OrtCustomOp* convolution_gradient() {
  return make_operator<ConvolutionGradient>({"ConvolutionGradient", {kFloat, kFloat, kFloat}, 3});
}

const OrtCustomOp* convolution_weight_gradient() {
  return make_operator<ConvolutionWeightGradient>(
      {"ConvolutionWeightGradient", {kFloat, kFloat, kFloat}, 2});
}

}  // namespace device_kernels
