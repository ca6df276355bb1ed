/* The part of ONNX Runtime's C API that the programs of a bundle use, so that they can be compiled
   and run on a machine without its headers: the names, the signatures and the place of each
   function in the table, which never changes once a version has shipped. The other places are
   filled. A wrong place crashes or fails the test that runs the programs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORT_API_VERSION 19
#define ORTCHAR_T char

typedef enum ONNXTensorElementDataType {
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 = 2,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 = 3,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 = 5,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 = 6,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 = 7,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL = 9,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 = 10,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE = 11,
} ONNXTensorElementDataType;

typedef enum OrtLoggingLevel { ORT_LOGGING_LEVEL_ERROR = 3 } OrtLoggingLevel;
typedef enum OrtAllocatorType { OrtDeviceAllocator = 0 } OrtAllocatorType;
typedef enum OrtMemType { OrtMemTypeDefault = 0 } OrtMemType;

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtValue OrtValue;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtTrainingApi OrtTrainingApi;

typedef struct OrtApi {
  void* places_0_to_1[2];
  const char* (*GetErrorMessage)(const OrtStatus*);
  OrtStatus* (*CreateEnv)(OrtLoggingLevel, const char* log_id, OrtEnv**);
  void* places_4_to_9[6];
  OrtStatus* (*CreateSessionOptions)(OrtSessionOptions**);
  void* places_11_to_48[38];
  OrtStatus* (*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo*, void* data, size_t bytes,
                                               const int64_t* shape, size_t rank,
                                               ONNXTensorElementDataType, OrtValue**);
  void* place_50;
  OrtStatus* (*GetTensorMutableData)(OrtValue*, void** data);
  void* places_52_to_63[12];
  OrtStatus* (*GetTensorShapeElementCount)(const OrtTensorTypeAndShapeInfo*, size_t*);
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue*, OrtTensorTypeAndShapeInfo**);
  void* places_66_to_68[3];
  OrtStatus* (*CreateCpuMemoryInfo)(OrtAllocatorType, OrtMemType, OrtMemoryInfo**);
  void* places_70_to_77[8];
  OrtStatus* (*GetAllocatorWithDefaultOptions)(OrtAllocator**);
  void* places_79_to_91[13];
  void (*ReleaseEnv)(OrtEnv*);
  void (*ReleaseStatus)(OrtStatus*);
  void (*ReleaseMemoryInfo)(OrtMemoryInfo*);
  void* place_95;
  void (*ReleaseValue)(OrtValue*);
  void* places_97_to_98[2];
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo*);
  void (*ReleaseSessionOptions)(OrtSessionOptions*);
  void* places_101_to_218[118];
  const OrtTrainingApi* (*GetTrainingApi)(uint32_t version);
} OrtApi;

typedef struct OrtApiBase {
  const OrtApi* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)(void);
} OrtApiBase;

const OrtApiBase* OrtGetApiBase(void);

#ifdef __cplusplus
}
#endif
