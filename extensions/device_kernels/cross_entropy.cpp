// CrossEntropy: scores of N rows and C classes, labels, weights -> loss, and of each row its largest score
// and one over its sum of powers, from which the gradient computes the probabilities again.
// CrossEntropyGradient: dloss, scores, labels, weights, those two of each row -> dscores, which may lie
// where the scores do. With w the weight of a row's label, and W the sum of all w or, for a sum, 1:
//     loss = sum of w (log(sum of powers) + largest - score of the label) / W,
//     dscores = dloss w / W (probabilities - 1 at the label).
// Rows labelled `ignore_index` count nothing. Weights are one for each class, or a single one for all.
//
// LogProbability: scores of rows of C classes, one label for each row -> logarithm of the label's probability,
// and those two of each row. Labels below 0 count from the last class. LogProbabilityGradient: gradients of the
// logarithms, scores, labels, those two of each row -> dscores, which may lie where the scores do.

#include <algorithm>
#include <cmath>
#include <limits>

#include "exponential.h"
#include "kernels.h"

namespace device_kernels {

namespace {

FOR_EACH_PROCESSOR void powers_of_row(const float* __restrict scores, int64_t size, float& largest,
                                      float& sum) {
  float most = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : most)
  for (int64_t i = 0; i < size; ++i) most = scores[i] > most ? scores[i] : most;
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < size; ++i) total += exponential_or_zero(scores[i] - most);
  largest = most;
  sum = total;
}

// `slopes` may be `scores`.
FOR_EACH_PROCESSOR void row_gradient(const float* scores, float largest, float factor, float* slopes,
                                     int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) slopes[i] = exponential_or_zero(scores[i] - largest) * factor;
}

// What both passes know of their inputs, and the labels.
struct Labelled {
  int64_t ignored, mean;

  Labelled(const OrtApi& api, const OrtKernelInfo* info)
      : ignored(integer_attribute(api, info, "ignore_index", std::numeric_limits<int64_t>::min())),
        mean(integer_attribute(api, info, "mean", 1)) {}

  // The weight of each row; their sum, in the order of the rows.
  std::vector<float> weights(const Run& run, const Shape& shape, size_t labels, double& sum) const {
    require(shape.size() == 2, "the scores are not of rows and classes");
    require(elements(run.shape(labels)) == shape[0], "there is not one label for each row");
    const int64_t given = elements(run.shape(labels + 1)), classes = shape[1];
    require(given == 1 || given == classes, "there is not one weight for each class");
    const int64_t* label = run.input<int64_t>(labels);
    const float* weight = run.input<float>(labels + 1);
    std::vector<float> found(static_cast<size_t>(shape[0]));
    sum = 0;
    for (size_t row = 0; row < found.size(); ++row) {
      if (label[row] == ignored) continue;
      require(0 <= label[row] && label[row] < classes, "a label is not a class");
      found[row] = weight[given == 1 ? 0 : label[row]];
      sum += found[row];
    }
    return found;
  }
};

struct CrossEntropy : Labelled {
  using Labelled::Labelled;

  void compute(const Run& run) const {
    const Shape shape = run.shape(0);
    double weight = 0;
    const std::vector<float> weights = this->weights(run, shape, 1, weight);
    const int64_t rows = shape[0], size = shape[1];
    const float* scores = run.input<float>(0);
    const int64_t* labels = run.input<int64_t>(1);
    float *loss = run.output(0, {}), *largest = run.output(1, {rows});
    float* inverse = run.output(2, {rows});
    std::vector<float> losses(static_cast<size_t>(rows));
    const int64_t in_part = pieces_per_part(size);
    run.parallel((rows + in_part - 1) / in_part, [&](int64_t part) {
      const int64_t end = std::min(rows, (part + 1) * in_part);
      for (int64_t row = part * in_part; row < end; ++row) {
        largest[row] = inverse[row] = 0.0f;
        if (labels[row] == ignored) continue;
        float sum;
        powers_of_row(scores + row * size, size, largest[row], sum);
        inverse[row] = 1.0f / sum;
        losses[row] = (std::log(sum) + (largest[row] - scores[row * size + labels[row]])) * weights[row];
      }
    });
    double sum = 0;
    for (const float each : losses) sum += each;
    *loss = static_cast<float>(mean != 0 && weight != 0 ? sum / weight : sum);
  }
};

struct CrossEntropyGradient : Labelled {
  using Labelled::Labelled;

  void compute(const Run& run) const {
    const Shape shape = run.shape(1);
    double weight = 0;
    const std::vector<float> weights = this->weights(run, shape, 2, weight);
    const int64_t rows = shape[0], size = shape[1];
    require(elements(run.shape(0)) == 1, "dloss is not one number");
    require(elements(run.shape(4)) == rows && elements(run.shape(5)) == rows,
            "there is not one largest score and one sum for each row");
    const float upstream = run.input<float>(0)[0];
    const float scale = mean != 0 && weight != 0 ? static_cast<float>(upstream / weight) : upstream;
    const float* scores = run.input<float>(1);
    const int64_t* labels = run.input<int64_t>(2);
    const float *largest = run.input<float>(4), *inverse = run.input<float>(5);
    float* slopes = run.output(0, shape);
    const int64_t in_part = pieces_per_part(size);
    run.parallel((rows + in_part - 1) / in_part, [&](int64_t part) {
      const int64_t end = std::min(rows, (part + 1) * in_part);
      for (int64_t row = part * in_part; row < end; ++row) {
        float* slope = slopes + row * size;
        if (labels[row] == ignored) {
          std::fill_n(slope, size, 0.0f);
          continue;
        }
        const float of_row = scale * weights[row];
        row_gradient(scores + row * size, largest[row], inverse[row] * of_row, slope, size);
        slope[labels[row]] -= of_row;
      }
    });
  }
};

// Scores by rows of the last axis, and where the label of each row is among its classes.
struct Rows {
  int64_t count, size;
  const int64_t* labels;

  Rows(const Run& run, size_t scores)
      : count(0), size(0), labels(run.input<int64_t>(scores + 1)) {
    const Shape shape = run.shape(scores);
    require(!shape.empty(), "the scores have no classes");
    size = shape.back();
    count = product(shape, 0, shape.size() - 1);
    require(elements(run.shape(scores + 1)) == count, "there is not one label for each row");
    for (int64_t row = 0; row < count; ++row)
      require(-size <= labels[row] && labels[row] < size, "a label is not a class");
  }

  int64_t label(int64_t row) const { return labels[row] + (labels[row] < 0 ? size : 0); }

  template <class Row>
  void each(const Run& run, const Row& of_row) const {
    const int64_t in_part = pieces_per_part(size);
    run.parallel((count + in_part - 1) / in_part, [&](int64_t part) {
      const int64_t end = std::min(count, (part + 1) * in_part);
      for (int64_t row = part * in_part; row < end; ++row) of_row(row);
    });
  }
};

struct LogProbability {
  LogProbability(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Rows rows(run, 0);
    const float* scores = run.input<float>(0);
    float *logarithms = run.output(0, run.shape(1)), *largest = run.output(1, {rows.count});
    float* inverse = run.output(2, {rows.count});
    rows.each(run, [&](int64_t row) {
      const float* of_row = scores + row * rows.size;
      float sum;
      powers_of_row(of_row, rows.size, largest[row], sum);
      inverse[row] = 1.0f / sum;
      logarithms[row] = of_row[rows.label(row)] - largest[row] - std::log(sum);
    });
  }
};

struct LogProbabilityGradient {
  LogProbabilityGradient(const OrtApi&, const OrtKernelInfo*) {}

  void compute(const Run& run) const {
    const Rows rows(run, 1);
    require(elements(run.shape(0)) == rows.count, "there is not one gradient for each row");
    require(elements(run.shape(3)) == rows.count && elements(run.shape(4)) == rows.count,
            "there is not one largest score and one sum for each row");
    const float *upstream = run.input<float>(0), *scores = run.input<float>(1);
    const float *largest = run.input<float>(3), *inverse = run.input<float>(4);
    float* slopes = run.output(0, run.shape(1));
    rows.each(run, [&](int64_t row) {
      float* slope = slopes + row * rows.size;
      const float factor = -upstream[row] * inverse[row];
      row_gradient(scores + row * rows.size, largest[row], factor, slope, rows.size);
      slope[rows.label(row)] += upstream[row];
    });
  }
};

}  // namespace

template <>
constexpr int kOverwritten<CrossEntropyGradient> = 1;
template <>
constexpr int kOverwritten<LogProbabilityGradient> = 1;

const OrtCustomOp* cross_entropy() {
  return make_operator<CrossEntropy>({"CrossEntropy", {kFloat, kInteger, kFloat}, 3});
}

const OrtCustomOp* cross_entropy_gradient() {
  return make_operator<CrossEntropyGradient>(
      {"CrossEntropyGradient", {kFloat, kFloat, kInteger, kFloat, kFloat, kFloat}, 1});
}

const OrtCustomOp* log_probability() {
  return make_operator<LogProbability>({"LogProbability", {kFloat, kInteger}, 3});
}

const OrtCustomOp* log_probability_gradient() {
  return make_operator<LogProbabilityGradient>(
      {"LogProbabilityGradient", {kFloat, kFloat, kInteger, kFloat, kFloat}, 1});
}

}  // namespace device_kernels
