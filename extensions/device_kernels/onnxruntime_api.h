// The part of ONNX Runtime's C API that these kernels use. Its Python packages have no headers. The
// names, the signatures and the place of each function in the table never change once a version
// has shipped; the other places are filled. Version 1.19 and later have all of them.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

constexpr uint32_t ORT_API_VERSION = 19;

enum ONNXTensorElementDataType {
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 = 7,
};
enum OrtErrorCode { ORT_OK = 0, ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2 };
enum OrtMemType { OrtMemTypeDefault = 0 };
enum OrtCustomOpInputOutputCharacteristic { INPUT_OUTPUT_REQUIRED = 0, INPUT_OUTPUT_OPTIONAL = 1 };

struct OrtStatus;
struct OrtSessionOptions;
struct OrtValue;
struct OrtTensorTypeAndShapeInfo;
struct OrtCustomOpDomain;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtShapeInferContext;
struct OrtCustomOp;

struct OrtApi {
  OrtStatus* (*CreateStatus)(OrtErrorCode, const char* message);
  void* place_1;
  const char* (*GetErrorMessage)(const OrtStatus*);
  void* places_3_to_25[23];
  OrtStatus* (*CreateCustomOpDomain)(const char* domain, OrtCustomOpDomain**);
  OrtStatus* (*CustomOpDomain_Add)(OrtCustomOpDomain*, const OrtCustomOp*);
  OrtStatus* (*AddCustomOpDomain)(OrtSessionOptions*, OrtCustomOpDomain*);
  void* places_29_to_50[22];
  OrtStatus* (*GetTensorMutableData)(OrtValue*, void** data);
  void* places_52_to_60[9];
  OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo*, size_t*);
  OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo*, int64_t* values, size_t count);
  void* places_63_to_64[2];
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue*, OrtTensorTypeAndShapeInfo**);
  void* places_66_to_84[19];
  OrtStatus* (*KernelInfoGetAttribute_float)(const OrtKernelInfo*, const char* name, float*);
  OrtStatus* (*KernelInfoGetAttribute_int64)(const OrtKernelInfo*, const char* name, int64_t*);
  // Writes the text and its terminating zero; without `out`, their size alone.
  OrtStatus* (*KernelInfoGetAttribute_string)(const OrtKernelInfo*, const char* name, char* out,
                                              size_t* size);
  OrtStatus* (*KernelContext_GetInputCount)(const OrtKernelContext*, size_t*);
  void* place_89;
  OrtStatus* (*KernelContext_GetInput)(const OrtKernelContext*, size_t index, const OrtValue**);
  OrtStatus* (*KernelContext_GetOutput)(OrtKernelContext*, size_t index, const int64_t* shape,
                                        size_t rank, OrtValue**);
  void* place_92;
  void (*ReleaseStatus)(OrtStatus*);
  void* places_94_to_98[5];
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo*);
  void* places_100_to_273[174];
  OrtStatus* (*KernelContext_ParallelFor)(const OrtKernelContext*, void (*)(void* data, size_t index),
                                          size_t total, size_t batches, void* data);
};

struct OrtApiBase {
  const OrtApi* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

// What ONNX Runtime asks an operator. Those that return a status return nullptr on success.
struct OrtCustomOp {
  uint32_t version;
  void* (*CreateKernel)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*);
  const char* (*GetName)(const OrtCustomOp*);
  const char* (*GetExecutionProviderType)(const OrtCustomOp*);
  ONNXTensorElementDataType (*GetInputType)(const OrtCustomOp*, size_t index);
  size_t (*GetInputTypeCount)(const OrtCustomOp*);
  ONNXTensorElementDataType (*GetOutputType)(const OrtCustomOp*, size_t index);
  size_t (*GetOutputTypeCount)(const OrtCustomOp*);
  void (*KernelCompute)(void* kernel, OrtKernelContext*);
  void (*KernelDestroy)(void* kernel);
  OrtCustomOpInputOutputCharacteristic (*GetInputCharacteristic)(const OrtCustomOp*, size_t index);
  OrtCustomOpInputOutputCharacteristic (*GetOutputCharacteristic)(const OrtCustomOp*, size_t index);
  OrtMemType (*GetInputMemoryType)(const OrtCustomOp*, size_t index);
  int (*GetVariadicInputMinArity)(const OrtCustomOp*);
  int (*GetVariadicInputHomogeneity)(const OrtCustomOp*);
  int (*GetVariadicOutputMinArity)(const OrtCustomOp*);
  int (*GetVariadicOutputHomogeneity)(const OrtCustomOp*);
  OrtStatus* (*CreateKernelV2)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void** kernel);
  OrtStatus* (*KernelComputeV2)(void* kernel, OrtKernelContext*);
  OrtStatus* (*InferOutputShapeFn)(const OrtCustomOp*, OrtShapeInferContext*);
  int (*GetStartVersion)(const OrtCustomOp*);
  int (*GetEndVersion)(const OrtCustomOp*);
  size_t (*GetMayInplace)(int** inputs, int** outputs);
  void (*ReleaseMayInplace)(int* inputs, int* outputs);
  size_t (*GetAliasMap)(int** inputs, int** outputs);
  void (*ReleaseAliasMap)(int* inputs, int* outputs);
};
}
