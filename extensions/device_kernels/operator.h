// What an operator of these kernels is to ONNX Runtime, and what a kernel sees of one run of its node.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "onnxruntime_api.h"

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "These kernels show NaN and infinity: compile them without -ffast-math and -ffinite-math-only."
#endif

// Compiled for newer processors too; the one at hand decides when the library is loaded.
#if defined(FOR_EACH_PROCESSOR)
// Given to the compiler.
#elif defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    __GNUC__ >= 12
#define FOR_EACH_PROCESSOR \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

namespace device_kernels {

using Shape = std::vector<int64_t>;

// The product of the sizes from `begin` up to, not including, `end`.
inline int64_t product(const Shape& shape, size_t begin, size_t end) {
  int64_t result = 1;
  for (size_t axis = begin; axis < end; ++axis) result *= shape[axis];
  return result;
}

inline int64_t elements(const Shape& shape) { return product(shape, 0, shape.size()); }

inline void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

// Throws what a failed call of ONNX Runtime says.
void check(const OrtApi& api, OrtStatus* status);

// One run of a node. Its tensors are contiguous and on the CPU.
class Run {
 public:
  Run(const OrtApi& api, OrtKernelContext* context) : api_(api), context_(context) {}

  Shape shape(size_t input) const;

  template <class Element>
  const Element* input(size_t index) const {
    return static_cast<const Element*>(data(value(index)));
  }

  float* output(size_t index, const Shape& shape) const;

  // Calls `part(index)` for each index below `parts`, on the threads of the session. What is computed must
  // not depend on which thread does it, so that a result does not depend on their number.
  template <class Part>
  void parallel(int64_t parts, const Part& part) const {
    if (parts <= 0) return;
    if (parts == 1) return part(0);
    const auto call = [](void* data, size_t index) {
      (*static_cast<const Part*>(data))(static_cast<int64_t>(index));
    };
    check(api_, api_.KernelContext_ParallelFor(context_, call, static_cast<size_t>(parts), 0,
                                               const_cast<Part*>(&part)));
  }

 private:
  const OrtValue* value(size_t input) const;
  void* data(const OrtValue* value) const;

  const OrtApi& api_;
  OrtKernelContext* context_;
};

// How many of `count` pieces of `size` elements each make a part that is worth a thread.
inline int64_t pieces_per_part(int64_t size) {
  constexpr int64_t kElements = 32768;
  return size >= kElements ? 1 : (kElements + size - 1) / (size > 0 ? size : 1);
}

// A number of a node, such as `axis`; the default where the node does not have it.
int64_t integer_attribute(const OrtApi& api, const OrtKernelInfo* info, const char* name,
                          int64_t otherwise);
float real_attribute(const OrtApi& api, const OrtKernelInfo* info, const char* name, float otherwise);
std::string text_attribute(const OrtApi& api, const OrtKernelInfo* info, const char* name);

struct Signature {
  const char* name;
  std::vector<ONNXTensorElementDataType> inputs;
  size_t outputs;  // all float32
};

// The input in whose memory the first output of a kernel may lie, where nothing reads it afterwards.
template <class Kernel>
constexpr int kOverwritten = -1;

// An operator whose kernel is a class with a constructor (const OrtApi&, const OrtKernelInfo*) and
// `void compute(const Run&) const`, which throws where the inputs do not fit.
template <class Kernel>
const OrtCustomOp* make_operator(const Signature& signature);

namespace details {

struct Operator : OrtCustomOp {
  Signature signature;
};

OrtStatus* failure(const OrtApi& api, const char* name, const char* message);
void describe(Operator& op, const Signature& signature);

template <class Kernel>
struct Instance {
  const OrtApi& api;
  const char* name;
  Kernel kernel;
};

template <class Kernel>
OrtStatus* create(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                  void** instance) {
  const char* name = static_cast<const Operator*>(op)->signature.name;
  try {
    *instance = new Instance<Kernel>{*api, name, Kernel(*api, info)};
    return nullptr;
  } catch (const std::exception& error) {
    return failure(*api, name, error.what());
  }
}

template <class Kernel>
OrtStatus* compute(void* instance, OrtKernelContext* context) {
  const auto& [api, name, kernel] = *static_cast<const Instance<Kernel>*>(instance);
  try {
    kernel.compute(Run(api, context));
    return nullptr;
  } catch (const std::exception& error) {
    return failure(api, name, error.what());
  }
}

template <class Kernel>
void destroy(void* instance) {
  delete static_cast<Instance<Kernel>*>(instance);
}

}  // namespace details

template <class Kernel>
const OrtCustomOp* make_operator(const Signature& signature) {
  static details::Operator op{};
  details::describe(op, signature);
  op.CreateKernelV2 = details::create<Kernel>;
  op.KernelComputeV2 = details::compute<Kernel>;
  op.KernelDestroy = details::destroy<Kernel>;
  if constexpr (kOverwritten<Kernel> >= 0) {
    op.GetMayInplace = [](int** inputs, int** outputs) -> size_t {
      *inputs = new int[1]{kOverwritten<Kernel>};
      *outputs = new int[1]{0};
      return 1;
    };
    op.ReleaseMayInplace = [](int* inputs, int* outputs) {
      delete[] inputs;
      delete[] outputs;
    };
  }
  return &op;
}

}  // namespace device_kernels
