// Whole layers as one node each, forward and backward, from PyTorch's own kernels: what lies between
// them (turned axes, products of flattened tensors, sums of biases) costs no node and no copy of its
// own. float32 on the CPU.

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sum.h>
#include <torch/library.h>

#include <array>
#include <optional>
#include <tuple>
#include <vector>

namespace {

constexpr int64_t kRank = 4;  // batch, heads, length, width

// In which order three operands and the result have these axes: four numbers each.
class Layouts {
 public:
  explicit Layouts(at::IntArrayRef axes) : axes_(axes) {
    TORCH_CHECK(axes.size() == 4 * kRank, "expected four numbers for each of four tensors");
  }

  // Of operand `index`, (batch, heads, length, width); no copy.
  at::Tensor seen(const at::Tensor& stored, int64_t index) const {
    at::Tensor turned = stored.permute(order(index));
    return turned.stride(-1) == 1 ? turned : turned.contiguous();
  }

  // The gradient of operand `index`, as the operand itself is stored.
  at::Tensor stored(const at::Tensor& seen, int64_t index) const {
    return seen.permute(inverse(index));
  }

  at::Tensor result(const at::Tensor& seen) const { return seen.permute(order(3)); }
  at::Tensor seen_result(const at::Tensor& stored) const { return stored.permute(inverse(3)); }

 private:
  at::IntArrayRef order(int64_t index) const { return axes_.slice(index * kRank, kRank); }
  std::array<int64_t, kRank> inverse(int64_t index) const {
    std::array<int64_t, kRank> made{};
    for (int64_t axis = 0; axis < kRank; ++axis) made[order(index)[axis]] = axis;
    return made;
  }

  at::IntArrayRef axes_;
};

// Broadcast to (batch, heads, length, keys).
std::optional<at::Tensor> whole(const std::optional<at::Tensor>& mask) {
  if (!mask.has_value() || !mask->defined()) return std::nullopt;
  at::Tensor made = *mask;
  while (made.dim() < kRank) made = made.unsqueeze(0);
  return made;
}

// The result, and the logarithms of the sums of the exponentials of the scores: (batch, length,
// heads), as the kernel writes them.
std::tuple<at::Tensor, at::Tensor> attention(const at::Tensor& query, const at::Tensor& key,
                                             const at::Tensor& value,
                                             const std::optional<at::Tensor>& mask, double scale,
                                             bool is_causal, at::IntArrayRef axes) {
  const Layouts layouts(axes);
  auto [result, sums] = at::_scaled_dot_product_flash_attention_for_cpu(
      layouts.seen(query, 0), layouts.seen(key, 1), layouts.seen(value, 2), 0.0, is_causal,
      whole(mask), scale);
  return {layouts.result(result), sums.transpose(1, 2)};
}

// Whether some query has all its keys masked by a finite number. Its sum of exponentials is lost in
// the logarithm beside a number of that size, and the kernel would take each weight for 1.
bool has_lost_sums(const at::Tensor& sums) {
  constexpr double kLost = -1000.0;
  return sums.lt(kLost).logical_and(at::isinf(sums).logical_not()).any().item<bool>();
}

// The gradients of query, key and value from the weights themselves; all (batch, heads, ...).
std::tuple<at::Tensor, at::Tensor, at::Tensor> gradients_by_weights(
    const at::Tensor& dy, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& mask, double scale) {
  const at::Tensor scores = at::matmul(query, key.transpose(-2, -1)) * scale + mask;
  const at::Tensor weights = at::softmax(scores, -1).nan_to_num(0.0);
  const at::Tensor by_weights = at::matmul(dy, value.transpose(-2, -1));
  const at::Tensor by_scores =
      weights * (by_weights - (by_weights * weights).sum(-1, /*keepdim=*/true)) * scale;
  return {at::matmul(by_scores, key), at::matmul(by_scores.transpose(-2, -1), query),
          at::matmul(weights.transpose(-2, -1), dy)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> attention_backward(
    const at::Tensor& dy, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& result, const at::Tensor& sums, const std::optional<at::Tensor>& mask,
    double scale, bool is_causal, at::IntArrayRef axes) {
  const Layouts layouts(axes);
  const std::optional<at::Tensor> added = whole(mask);
  if (added.has_value() && has_lost_sums(sums)) {
    auto [dq, dk, dv] =
        gradients_by_weights(layouts.seen_result(dy), layouts.seen(query, 0), layouts.seen(key, 1),
                             layouts.seen(value, 2), *added, scale);
    return {layouts.stored(dq, 0), layouts.stored(dk, 1), layouts.stored(dv, 2)};
  }
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      layouts.seen_result(dy), layouts.seen(query, 0), layouts.seen(key, 1),
      layouts.seen(value, 2), layouts.seen_result(result), sums.transpose(1, 2), 0.0, is_causal,
      added, scale);
  return {layouts.stored(dq, 0), layouts.stored(dk, 1), layouts.stored(dv, 2)};
}

at::Tensor rows(const at::Tensor& tensor, int64_t width) { return tensor.reshape({-1, width}); }
at::Tensor rows(const at::Tensor& tensor) { return rows(tensor, tensor.size(-1)); }

// (..., in) -> (..., out). `weight` is (in, out), or (out, in) where it is transposed.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight,
                  const std::optional<at::Tensor>& bias, bool weight_is_transposed) {
  const at::Tensor matrix = weight_is_transposed ? weight.t() : weight;
  const bool has_bias = bias.has_value() && bias->defined();
  const at::Tensor made = has_bias ? at::addmm(*bias, rows(x), matrix) : at::mm(rows(x), matrix);
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = matrix.size(1);
  return made.view(shape);
}

// The gradients of x, weight and bias; undefined where they are not wanted. `dy` has any shape, with
// the elements of the result in their order.
std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_backward(const at::Tensor& dy,
                                                               const at::Tensor& x,
                                                               const at::Tensor& weight,
                                                               bool weight_is_transposed,
                                                               std::array<bool, 3> wanted) {
  const at::Tensor gradient = rows(dy, weight.size(weight_is_transposed ? 0 : 1));
  at::Tensor dx, dw, db;
  if (wanted[0]) {
    dx = at::mm(gradient, weight_is_transposed ? weight : weight.t()).view(x.sizes());
  }
  if (wanted[1]) {
    dw = weight_is_transposed ? at::mm(gradient.t(), rows(x)) : at::mm(rows(x).t(), gradient);
  }
  if (wanted[2]) db = at::sum(gradient, 0);
  return {dx, dw, db};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(workbench_kernels, library) {
  library.def(
      "attention(Tensor query, Tensor key, Tensor value, Tensor? mask, float scale, bool is_causal, "
      "int[] axes) -> (Tensor, Tensor)",
      attention);
  library.def(
      "attention_backward(Tensor dy, Tensor query, Tensor key, Tensor value, Tensor result, "
      "Tensor sums, Tensor? mask, float scale, bool is_causal, int[] axes) -> (Tensor, Tensor, Tensor)",
      attention_backward);
  library.def("linear(Tensor x, Tensor weight, Tensor? bias, bool weight_is_transposed) -> Tensor",
              linear);
  library.def(
      "linear_backward(Tensor dy, Tensor x, Tensor weight, bool weight_is_transposed, bool[3] wanted) "
      "-> (Tensor, Tensor, Tensor)",
      linear_backward);
}
