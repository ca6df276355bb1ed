// Lets a graph that ONNX Runtime runs call PyTorch's kernels.
//
// ONNX Runtime hands each node `org.pytorch.aten::ATen` to two functions that it has been given the
// addresses of: one that says whether an argument is a tensor, one that runs the kernel. Tensors
// cross by DLPack, without copies. Arguments that are no tensors (numbers, lists of numbers) arrive
// as tensors as well, of int64, float or bytes, with the rank 0 or 1.
//
// There is no Python in here: the library is loaded by ctypes, after torch.

#include <ATen/DLConvertor.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/headeronly/version.h>

#ifdef __linux__
#include <malloc.h>
#endif

#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using c10::IValue;
using c10::TypeKind;

// What an argument of a kernel is, looked up once.
struct Argument {
  TypeKind kind;  // of an element, where it is a list
  bool is_list;
  bool is_optional;
  IValue fallback;  // where the node leaves it out
};

struct Kernel {
  c10::OperatorHandle handle;
  std::vector<Argument> arguments;
  std::vector<bool> gives_tensor;
};

Argument describe(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  Argument made{type->kind(), false, false, IValue()};
  if (made.kind == TypeKind::OptionalType) {
    made.is_optional = true;
    type = type->castRaw<c10::OptionalType>()->getElementType();
    made.kind = type->kind();
  }
  if (made.kind == TypeKind::ListType) {
    made.is_list = true;
    made.kind = type->castRaw<c10::ListType>()->getElementType()->kind();
  }
  // A symbolic size is a number here.
  if (made.kind == TypeKind::SymIntType) made.kind = TypeKind::IntType;
  if (argument.default_value()) {
    made.fallback = *argument.default_value();
  } else if (made.kind == TypeKind::TensorType && !made.is_list && !made.is_optional) {
    made.fallback = at::Tensor();
  }
  return made;
}

const Kernel& find(const char* name, const char* overload) {
  static std::mutex mutex;
  static std::unordered_map<std::string, Kernel> kernels;
  std::string key = std::string(name) + "." + overload;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = kernels.find(key);
  if (found == kernels.end()) {
    auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
    Kernel made{handle, {}, {}};
    for (const auto& argument : handle.schema().arguments()) {
      made.arguments.push_back(describe(argument));
    }
    for (const auto& result : handle.schema().returns()) {
      made.gives_tensor.push_back(result.real_type()->kind() == TypeKind::TensorType);
    }
    found = kernels.emplace(std::move(key), std::move(made)).first;
  }
  return found->second;
}

// The numbers of a tensor that stands for an argument; the tensor is given back.
class Numbers {
 public:
  explicit Numbers(DLManagedTensor* managed) : managed_(managed), tensor_(managed->dl_tensor) {
    if (tensor_.ndim > 1) throw std::runtime_error("a list of numbers has one axis");
  }
  ~Numbers() {
    if (managed_->deleter) managed_->deleter(managed_);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  size_t size() const { return tensor_.ndim == 0 ? 1 : static_cast<size_t>(tensor_.shape[0]); }
  bool is_whole() const { return tensor_.dtype.code == kDLInt; }

  template <typename T>
  T at(size_t index) const {
    const char* data = static_cast<const char*>(tensor_.data) + tensor_.byte_offset;
    const auto code = tensor_.dtype.code;
    const auto bits = tensor_.dtype.bits;
    if (code == kDLInt && bits == 64) return read<int64_t, T>(data, index);
    if (code == kDLFloat && bits == 32) return read<float, T>(data, index);
    if (code == kDLFloat && bits == 64) return read<double, T>(data, index);
    if ((code == kDLUInt || code == kDLBool) && bits == 8) return read<uint8_t, T>(data, index);
    throw std::runtime_error("a number is neither int64 nor float nor a truth value");
  }

 private:
  template <typename S, typename T>
  static T read(const char* data, size_t index) {
    S value;
    std::memcpy(&value, data + index * sizeof(S), sizeof(S));
    return static_cast<T>(value);
  }

  DLManagedTensor* managed_;
  const DLTensor& tensor_;
};

template <typename T>
IValue list_of(const Numbers& numbers) {
  c10::List<T> made;
  made.reserve(numbers.size());
  for (size_t index = 0; index < numbers.size(); ++index) made.push_back(numbers.at<T>(index));
  return made;
}

IValue text_of(const Numbers& numbers) {
  std::string made;
  for (size_t index = 0; index < numbers.size(); ++index) made.push_back(numbers.at<char>(index));
  return made;
}

IValue value_of(const Numbers& numbers, const Argument& argument) {
  if (!argument.is_list && argument.kind != TypeKind::StringType && numbers.size() != 1) throw std::runtime_error("expected one number");
  switch (argument.kind) {
    case TypeKind::ScalarTypeType:  // a dtype, by its number
    case TypeKind::IntType:
      return argument.is_list ? list_of<int64_t>(numbers) : IValue(numbers.at<int64_t>(0));
    case TypeKind::FloatType:
      return argument.is_list ? list_of<double>(numbers) : IValue(numbers.at<double>(0));
    case TypeKind::BoolType:
      return argument.is_list ? list_of<bool>(numbers) : IValue(numbers.at<bool>(0));
    case TypeKind::StringType:
      return text_of(numbers);
    case TypeKind::NumberType:
      if (!argument.is_list) {
        return numbers.is_whole() ? IValue(at::Scalar(numbers.at<int64_t>(0)))
                                  : IValue(at::Scalar(numbers.at<double>(0)));
      }
      [[fallthrough]];
    default:
      throw std::runtime_error("an argument is of a type that no tensor can stand for");
  }
}

// Takes ownership of `managed`.
IValue input(DLManagedTensor* managed, const Argument& argument) {
  if (managed == nullptr) return argument.fallback;
  if (argument.kind == TypeKind::TensorType && !argument.is_list) {
    return at::fromDLPack(managed);
  }
  return value_of(Numbers(managed), argument);
}

// A result in memory of its own: ONNX Runtime may write into what it takes for one value.
DLManagedTensor* output(const IValue& result, const std::vector<IValue>& arguments,
                        const torch::jit::Stack& earlier, size_t earlier_count) {
  if (!result.isTensor()) throw std::runtime_error("a result is no tensor");
  at::Tensor tensor = result.toTensor();
  if (!tensor.defined()) return nullptr;
  tensor = tensor.contiguous();
  bool shared = false;
  for (const IValue& argument : arguments) {
    shared = shared || (argument.isTensor() && argument.toTensor().defined() &&
                        argument.toTensor().is_alias_of(tensor));
  }
  for (size_t index = 0; index < earlier_count; ++index) {
    const IValue& other = earlier[index];
    shared = shared || (other.isTensor() && other.toTensor().defined() &&
                        other.toTensor().is_alias_of(tensor));
  }
  return at::toDLPack(shared ? tensor.clone() : tensor);
}

void run(const Kernel& kernel, size_t input_count, DLManagedTensor** inputs, size_t output_count,
         DLManagedTensor** outputs) {
  if (input_count > kernel.arguments.size()) throw std::runtime_error("too many inputs");
  if (output_count > kernel.gives_tensor.size()) throw std::runtime_error("too many outputs");
  std::vector<IValue> arguments;
  arguments.reserve(kernel.arguments.size());
  for (size_t index = 0; index < kernel.arguments.size(); ++index) {
    const Argument& argument = kernel.arguments[index];
    DLManagedTensor* given = nullptr;
    if (index < input_count) std::swap(given, inputs[index]);
    arguments.push_back(input(given, argument));
  }
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  {
    // The kernels themselves: no gradients, no autocast, none of Python's modes.
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    c10::impl::ExcludeDispatchKeyGuard no_modes(c10::python_ks);
    kernel.handle.callBoxed(stack);
  }
  for (size_t index = 0; index < output_count; ++index) {
    outputs[index] = output(stack[index], arguments, stack, index);
  }
}

}  // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE const char* workbench_torch_version() { return TORCH_VERSION; }

// Keeps freed memory for the next step, as ONNX Runtime's own arena does. PyTorch's results come from
// malloc, which would give every block of some size back to the system and ask for it again, page by
// page, at each node: more than the kernel itself takes. For the whole process; glibc alone.
VISIBLE void workbench_keep_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

// Whether argument (or result) `index` is a tensor, as opposed to a number or a list of numbers.
VISIBLE bool workbench_is_tensor_argument(const char* name, const char* overload, size_t index,
                                          bool is_input) {
  const Kernel& kernel = find(name, overload);
  if (is_input) return kernel.arguments.at(index).kind == TypeKind::TensorType;
  return kernel.gives_tensor.at(index);
}

// Runs a kernel. Owns the inputs from here on; ONNX Runtime owns the outputs.
VISIBLE void workbench_execute(const char* name, const char* overload, size_t input_count,
                               DLManagedTensor** inputs, size_t output_count,
                               DLManagedTensor** outputs) {
  std::string problem;
  try {
    run(find(name, overload), input_count, inputs, output_count, outputs);
    return;
  } catch (const c10::Error& error) {
    problem = error.what_without_backtrace();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  for (size_t index = 0; index < input_count; ++index) {
    if (inputs[index] && inputs[index]->deleter) inputs[index]->deleter(inputs[index]);
  }
  // ONNX Runtime shows the text of a std::runtime_error as the node's failure.
  throw std::runtime_error(std::string("PyTorch's kernel ") + name + ": " + problem);
}
