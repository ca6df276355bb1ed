// Kernels of our own, for operators whose PyTorch counterpart takes or gives something that ONNX
// Runtime's has not: registered with PyTorch's dispatcher as `workbench_kernels::...`, they are called from
// the graph as PyTorch's own are. float32, contiguous, on the CPU.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <mutex>
#include <tuple>

// Compiled for newer processors too; the one at hand decides when the library is loaded.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define FOR_EACH_PROCESSOR \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

namespace {

constexpr int64_t kGrain = 16384;  // elements that are worth a thread

// One axis of a pooling window.
struct Axis {
  int64_t in, out, kernel, stride, padding, dilation;

  int64_t begin(int64_t place) const { return place * stride - padding; }
  bool is_halving() const {
    return kernel == 2 && stride == 2 && padding == 0 && dilation == 1 && in == 2 * out;
  }
};

// Windows of two by two side by side: every element lies in exactly one.
FOR_EACH_PROCESSOR void halve(const float* dy, const float* x, const float* y, float* dx, const Axis& h,
           const Axis& w) {
  for (int64_t row = 0; row < h.out; ++row) {
    const float* upper = x + 2 * row * w.in;
    const float* lower = upper + w.in;
    float* to_upper = dx + 2 * row * w.in;
    float* to_lower = to_upper + w.in;
    for (int64_t column = 0; column < w.out; ++column) {
      const float top = y[row * w.out + column];
      const float gradient = dy[row * w.out + column];
      const bool a = upper[2 * column] == top;
      const bool b = !a & (upper[2 * column + 1] == top);
      const bool c = !a & !b & (lower[2 * column] == top);
      const bool d = !a & !b & !c & (lower[2 * column + 1] == top);
      to_upper[2 * column] = a ? gradient : 0.0f;
      to_upper[2 * column + 1] = b ? gradient : 0.0f;
      to_lower[2 * column] = c ? gradient : 0.0f;
      to_lower[2 * column + 1] = d ? gradient : 0.0f;
    }
  }
}

// The gradient of each window goes to the first of its elements that is its maximum.
void scatter(const float* dy, const float* x, const float* y, float* dx, const Axis& h,
             const Axis& w) {
  std::fill(dx, dx + h.in * w.in, 0.0f);
  for (int64_t row = 0; row < h.out; ++row) {
    for (int64_t column = 0; column < w.out; ++column) {
      const float top = y[row * w.out + column];
      const float gradient = dy[row * w.out + column];
      bool found = false;
      for (int64_t i = 0; i < h.kernel && !found; ++i) {
        const int64_t r = h.begin(row) + i * h.dilation;
        if (r < 0 || r >= h.in) continue;
        for (int64_t j = 0; j < w.kernel && !found; ++j) {
          const int64_t c = w.begin(column) + j * w.dilation;
          if (c < 0 || c >= w.in) continue;
          found = x[r * w.in + c] == top;
          if (found) dx[r * w.in + c] += gradient;
        }
      }
    }
  }
}

// (N, C, ...) -> the same shape. `dy` and `y` are the pooled ones; one or two pooled axes.
at::Tensor max_pool_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& y,
                             at::IntArrayRef kernel, at::IntArrayRef strides,
                             at::IntArrayRef padding, at::IntArrayRef dilation) {
  const int64_t axes = static_cast<int64_t>(kernel.size());
  TORCH_CHECK(axes == 1 || axes == 2, "windows of one or two axes");
  TORCH_CHECK(x.dim() == axes + 2 && y.sizes() == dy.sizes(), "shapes do not belong together");
  auto axis = [&](int64_t index) {
    return Axis{x.size(2 + index), y.size(2 + index), kernel[index],
                strides[index],    padding[index],    dilation[index]};
  };
  const Axis w = axis(axes - 1);
  const Axis h = axes == 2 ? axis(0) : Axis{1, 1, 1, 1, 0, 1};
  at::Tensor dx = at::empty_like(x);
  const int64_t planes = x.size(0) * x.size(1);
  const int64_t from = h.in * w.in;
  const int64_t to = h.out * w.out;
  const float* gradients = dy.const_data_ptr<float>();
  const float* inputs = x.const_data_ptr<float>();
  const float* maxima = y.const_data_ptr<float>();
  float* results = dx.mutable_data_ptr<float>();
  const auto one = axes == 2 && h.is_halving() && w.is_halving() ? halve : scatter;
  at::parallel_for(0, planes, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, from)),
                   [&](int64_t first, int64_t last) {
                     for (int64_t p = first; p < last; ++p) {
                       one(gradients + p * to, inputs + p * from, maxima + p * to,
                           results + p * from, h, w);
                     }
                   });
  return dx;
}

// Some 64 bits for each number (SplitMix64, Steele, Lea and Flood 2014): any may be drawn first, so
// that the threads share them out and the result does not depend on how many there are.
inline uint64_t drawn(uint64_t seed, uint64_t number) {
  uint64_t bits = seed + (number + 1) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

// Whether each of the elements from twice `first` to twice `last` stays.
FOR_EACH_PROCESSOR void choose(uint64_t seed, uint64_t limit, int64_t first, int64_t last,
                               uint8_t* keep) {
  for (int64_t pair = first; pair < last; ++pair) {
    const uint64_t bits = drawn(seed, static_cast<uint64_t>(pair));
    keep[2 * pair] = (bits >> 32) >= limit;
    keep[2 * pair + 1] = (bits & 0xffffffffu) >= limit;
  }
}

FOR_EACH_PROCESSOR void scale_kept(const float* from, const uint8_t* keep, float scale,
                                   int64_t first, int64_t last, float* to) {
  for (int64_t i = first; i < last; ++i) to[i] = keep[i] ? from[i] * scale : 0.0f;
}

// Any shape -> the same shape, and which elements stayed, in bytes. The seed of each call is the
// next number of PyTorch's generator.
std::tuple<at::Tensor, at::Tensor> dropout(const at::Tensor& x, double probability) {
  TORCH_CHECK(0 <= probability && probability < 1, "a probability from 0 to below 1");
  uint64_t seed;
  {
    auto* generator = at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator());
    std::lock_guard<std::mutex> lock(generator->mutex_);
    seed = generator->random64();
  }
  at::Tensor made = at::empty_like(x);
  at::Tensor mask = at::empty(x.sizes(), x.options().dtype(at::kByte));
  const float scale = static_cast<float>(1.0 / (1.0 - probability));
  const uint64_t limit = static_cast<uint64_t>(probability * 4294967296.0);
  const float* from = x.const_data_ptr<float>();
  float* to = made.mutable_data_ptr<float>();
  uint8_t* keep = mask.mutable_data_ptr<uint8_t>();
  const int64_t count = x.numel();
  // Each drawn number serves two elements.
  at::parallel_for(0, (count + 1) / 2, kGrain / 2, [&](int64_t first, int64_t last) {
    const int64_t whole = std::min(last, count / 2);
    choose(seed, limit, first, whole, keep);
    if (last > whole) keep[2 * whole] = (drawn(seed, static_cast<uint64_t>(whole)) >> 32) >= limit;
    scale_kept(from, keep, scale, 2 * first, std::min(2 * last, count), to);
  });
  return {made, mask};
}

at::Tensor dropout_backward(const at::Tensor& dy, const at::Tensor& mask, double probability) {
  TORCH_CHECK(dy.sizes() == mask.sizes(), "shapes do not belong together");
  at::Tensor made = at::empty_like(dy);
  const float scale = static_cast<float>(1.0 / (1.0 - probability));
  const float* from = dy.const_data_ptr<float>();
  const uint8_t* keep = mask.const_data_ptr<uint8_t>();
  float* to = made.mutable_data_ptr<float>();
  at::parallel_for(0, dy.numel(), kGrain, [&](int64_t first, int64_t last) {
    scale_kept(from, keep, scale, first, last, to);
  });
  return made;
}

FOR_EACH_PROCESSOR void add(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

// Any shape -> `shape`: the sum of the gradients of each place along `axis` that was gathered.
// `dy` has the axes of `indices` in place of that one; a negative index counts from the end.
at::Tensor gather_backward(at::IntArrayRef shape, const at::Tensor& indices, const at::Tensor& dy,
                           int64_t axis) {
  const int64_t rank = static_cast<int64_t>(shape.size());
  if (axis < 0) axis += rank;
  TORCH_CHECK(0 <= axis && axis < rank, "no such axis");
  const int64_t outer = c10::multiply_integers(shape.begin(), shape.begin() + axis);
  const int64_t inner = c10::multiply_integers(shape.begin() + axis + 1, shape.end());
  const int64_t places = shape[axis];
  const at::Tensor whole = indices.to(at::kLong);
  const int64_t count = whole.numel();
  TORCH_CHECK(dy.numel() == outer * count * inner, "shapes do not belong together");
  const int64_t* chosen = whole.const_data_ptr<int64_t>();
  const float* from = dy.const_data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) {
    TORCH_CHECK(-places <= chosen[i] && chosen[i] < places, "an index is out of range");
  }
  at::Tensor made = at::zeros(shape, dy.options());
  float* to = made.mutable_data_ptr<float>();
  // Each thread has places of its own and looks at every index.
  at::parallel_for(0, outer * places, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, inner)),
                   [&](int64_t first, int64_t last) {
                     for (int64_t o = first / places; o < outer && o * places < last; ++o) {
                       for (int64_t i = 0; i < count; ++i) {
                         const int64_t place = chosen[i] < 0 ? chosen[i] + places : chosen[i];
                         const int64_t row = o * places + place;
                         if (row < first || row >= last) continue;
                         add(from + (o * count + i) * inner, inner, to + row * inner);
                       }
                     }
                   });
  return made;
}

}  // namespace

TORCH_LIBRARY(workbench_kernels, library) {
  library.def(
      "max_pool_backward(Tensor dy, Tensor x, Tensor y, int[] kernel, int[] strides, int[] padding, "
      "int[] dilation) -> Tensor",
      max_pool_backward);
  library.def("dropout(Tensor x, float probability) -> (Tensor, Tensor)", dropout);
  library.def("dropout_backward(Tensor dy, Tensor mask, float probability) -> Tensor",
              dropout_backward);
  library.def("gather_backward(int[] shape, Tensor indices, Tensor dy, int axis) -> Tensor",
              gather_backward);
}
