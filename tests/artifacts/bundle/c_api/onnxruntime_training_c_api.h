/* The part of ONNX Runtime's training C API 1.19 that the programs of a bundle use; as
   onnxruntime_c_api.h. */
#pragma once

#include "onnxruntime_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct OrtTrainingSession OrtTrainingSession;
typedef struct OrtCheckpointState OrtCheckpointState;

struct OrtTrainingApi {
  OrtStatus* (*LoadCheckpoint)(const ORTCHAR_T* path, OrtCheckpointState**);
  OrtStatus* (*SaveCheckpoint)(OrtCheckpointState*, const ORTCHAR_T* path, bool optimizer_state);
  OrtStatus* (*CreateTrainingSession)(const OrtEnv*, const OrtSessionOptions*, OrtCheckpointState*,
                                      const ORTCHAR_T* train_model, const ORTCHAR_T* eval_model,
                                      const ORTCHAR_T* optimizer_model, OrtTrainingSession**);
  void* place_3;
  OrtStatus* (*TrainingSessionGetTrainingModelOutputCount)(const OrtTrainingSession*, size_t*);
  OrtStatus* (*TrainingSessionGetEvalModelOutputCount)(const OrtTrainingSession*, size_t*);
  void* places_6_to_7[2];
  OrtStatus* (*LazyResetGrad)(OrtTrainingSession*);
  OrtStatus* (*TrainStep)(OrtTrainingSession*, const OrtRunOptions*, size_t, const OrtValue* const*,
                          size_t, OrtValue**);
  OrtStatus* (*EvalStep)(const OrtTrainingSession*, const OrtRunOptions*, size_t,
                         const OrtValue* const*, size_t, OrtValue**);
  OrtStatus* (*SetLearningRate)(OrtTrainingSession*, float);
  void* place_12;
  OrtStatus* (*OptimizerStep)(OrtTrainingSession*, const OrtRunOptions*);
  void* places_14_to_18[5];
  void (*ReleaseTrainingSession)(OrtTrainingSession*);
  void (*ReleaseCheckpointState)(OrtCheckpointState*);
  OrtStatus* (*ExportModelForInferencing)(OrtTrainingSession*, const ORTCHAR_T* path, size_t,
                                          const char* const* output_names);
  void* places_22_to_31[10];
  OrtStatus* (*GetParameter)(const OrtCheckpointState*, const char* name, OrtAllocator*,
                             OrtValue**);
};

#ifdef __cplusplus
}
#endif
