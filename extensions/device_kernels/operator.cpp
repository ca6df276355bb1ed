#include "operator.h"

namespace device_kernels {

void check(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return;
  const std::string message = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  throw std::runtime_error(message);
}

const OrtValue* Run::value(size_t input) const {
  const OrtValue* found = nullptr;
  check(api_, api_.KernelContext_GetInput(context_, input, &found));
  require(found != nullptr, "an input is missing");
  return found;
}

void* Run::data(const OrtValue* value) const {
  void* found = nullptr;
  // The only function that gives a tensor's address; what is an input is not written.
  check(api_, api_.GetTensorMutableData(const_cast<OrtValue*>(value), &found));
  return found;
}

Shape Run::shape(size_t input) const {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  check(api_, api_.GetTensorTypeAndShape(value(input), &info));
  size_t rank = 0;
  OrtStatus* failed = api_.GetDimensionsCount(info, &rank);
  Shape shape(rank);
  if (failed == nullptr) failed = api_.GetDimensions(info, shape.data(), rank);
  api_.ReleaseTensorTypeAndShapeInfo(info);
  check(api_, failed);
  return shape;
}

float* Run::output(size_t index, const Shape& shape) const {
  OrtValue* made = nullptr;
  check(api_, api_.KernelContext_GetOutput(context_, index, shape.data(), shape.size(), &made));
  return static_cast<float*>(data(made));
}

int64_t integer_attribute(const OrtApi& api, const OrtKernelInfo* info, const char* name,
                          int64_t otherwise) {
  int64_t found = otherwise;
  OrtStatus* absent = api.KernelInfoGetAttribute_int64(info, name, &found);
  if (absent == nullptr) return found;
  api.ReleaseStatus(absent);
  return otherwise;
}

float real_attribute(const OrtApi& api, const OrtKernelInfo* info, const char* name,
                     float otherwise) {
  float found = otherwise;
  OrtStatus* absent = api.KernelInfoGetAttribute_float(info, name, &found);
  if (absent == nullptr) return found;
  api.ReleaseStatus(absent);
  return otherwise;
}

std::string text_attribute(const OrtApi& api, const OrtKernelInfo* info, const char* name) {
  size_t size = 0;
  check(api, api.KernelInfoGetAttribute_string(info, name, nullptr, &size));
  std::string found(size, '\0');
  check(api, api.KernelInfoGetAttribute_string(info, name, found.data(), &size));
  found.resize(size > 0 ? size - 1 : 0);
  return found;
}

namespace details {

namespace {

const Signature& signature_of(const OrtCustomOp* op) {
  return static_cast<const Operator*>(op)->signature;
}

}  // namespace

OrtStatus* failure(const OrtApi& api, const char* name, const char* message) {
  return api.CreateStatus(ORT_FAIL, (std::string(name) + ": " + message).c_str());
}

void describe(Operator& op, const Signature& signature) {
  op.signature = signature;
  op.version = ORT_API_VERSION;
  op.GetName = [](const OrtCustomOp* self) { return signature_of(self).name; };
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  op.GetInputTypeCount = [](const OrtCustomOp* self) { return signature_of(self).inputs.size(); };
  op.GetInputType = [](const OrtCustomOp* self, size_t index) {
    return signature_of(self).inputs[index];
  };
  op.GetOutputTypeCount = [](const OrtCustomOp* self) { return signature_of(self).outputs; };
  op.GetOutputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
  op.GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
  op.GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
  op.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  op.GetStartVersion = [](const OrtCustomOp*) { return 1; };
  op.GetEndVersion = [](const OrtCustomOp*) { return 1; };}

}  // namespace details

}  // namespace device_kernels
