// The part of ONNX Runtime's C++ API, of inference and of training, that the program of a bundle
// uses, with the names and signatures of its own header, over the C API.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "onnxruntime_training_c_api.h"

namespace Ort {

inline const OrtApi& GetApi() { return *OrtGetApiBase()->GetApi(ORT_API_VERSION); }
inline const OrtTrainingApi& GetTrainingApi() { return *GetApi().GetTrainingApi(ORT_API_VERSION); }

struct Exception : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {

inline void check(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string message = GetApi().GetErrorMessage(status);
  GetApi().ReleaseStatus(status);
  throw Exception(message);
}

inline void release(OrtEnv* p) { GetApi().ReleaseEnv(p); }
inline void release(OrtSessionOptions* p) { GetApi().ReleaseSessionOptions(p); }
inline void release(OrtMemoryInfo* p) { GetApi().ReleaseMemoryInfo(p); }
inline void release(OrtValue* p) { GetApi().ReleaseValue(p); }
inline void release(OrtTensorTypeAndShapeInfo* p) { GetApi().ReleaseTensorTypeAndShapeInfo(p); }
inline void release(OrtCheckpointState* p) { GetTrainingApi().ReleaseCheckpointState(p); }
inline void release(OrtTrainingSession* p) { GetTrainingApi().ReleaseTrainingSession(p); }

template <typename T>
struct Base {
  Base() = default;
  explicit Base(T* p) : p_(p) {}
  Base(const Base&) = delete;
  Base& operator=(const Base&) = delete;
  Base(Base&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  ~Base() {
    if (p_ != nullptr) release(p_);
  }
  operator T*() const { return p_; }

 protected:
  T* p_ = nullptr;
};

}  // namespace detail

struct Env : detail::Base<OrtEnv> {
  Env(OrtLoggingLevel level, const char* log_id) {
    detail::check(GetApi().CreateEnv(level, log_id, &p_));
  }
};

struct SessionOptions : detail::Base<OrtSessionOptions> {
  SessionOptions() { detail::check(GetApi().CreateSessionOptions(&p_)); }
};

struct MemoryInfo : detail::Base<OrtMemoryInfo> {
  using Base::Base;
  static MemoryInfo CreateCpu(OrtAllocatorType type, OrtMemType memory) {
    OrtMemoryInfo* p;
    detail::check(GetApi().CreateCpuMemoryInfo(type, memory, &p));
    return MemoryInfo(p);
  }
};

struct TensorTypeAndShapeInfo : detail::Base<OrtTensorTypeAndShapeInfo> {
  using Base::Base;
  size_t GetElementCount() const {
    size_t count;
    detail::check(GetApi().GetTensorShapeElementCount(p_, &count));
    return count;
  }
};

struct Value : detail::Base<OrtValue> {
  using Base::Base;
  static Value CreateTensor(const OrtMemoryInfo* memory, void* data, size_t bytes,
                            const int64_t* shape, size_t rank, ONNXTensorElementDataType type) {
    OrtValue* p;
    detail::check(
        GetApi().CreateTensorWithDataAsOrtValue(memory, data, bytes, shape, rank, type, &p));
    return Value(p);
  }
  TensorTypeAndShapeInfo GetTensorTypeAndShapeInfo() const {
    OrtTensorTypeAndShapeInfo* p;
    detail::check(GetApi().GetTensorTypeAndShape(p_, &p));
    return TensorTypeAndShapeInfo(p);
  }
  template <typename T>
  const T* GetTensorData() const {
    void* data;
    detail::check(GetApi().GetTensorMutableData(p_, &data));
    return static_cast<const T*>(data);
  }
};

class CheckpointState : public detail::Base<OrtCheckpointState> {
  using Base::Base;

 public:
  static CheckpointState LoadCheckpoint(const std::basic_string<ORTCHAR_T>& path) {
    OrtCheckpointState* p;
    detail::check(GetTrainingApi().LoadCheckpoint(path.c_str(), &p));
    return CheckpointState(p);
  }
  static void SaveCheckpoint(const CheckpointState& state, const std::basic_string<ORTCHAR_T>& path,
                             const bool include_optimizer_state = false) {
    detail::check(
        GetTrainingApi().SaveCheckpoint(state, path.c_str(), include_optimizer_state));
  }
  Value GetParameter(const std::string& name) {
    OrtAllocator* allocator;
    OrtValue* p;
    detail::check(GetApi().GetAllocatorWithDefaultOptions(&allocator));
    detail::check(GetTrainingApi().GetParameter(p_, name.c_str(), allocator, &p));
    return Value(p);
  }
};

class TrainingSession : public detail::Base<OrtTrainingSession> {
  size_t training_outputs_, eval_outputs_;

 public:
  TrainingSession(const Env& env, const SessionOptions& options, CheckpointState& state,
                  const std::basic_string<ORTCHAR_T>& train_model,
                  const std::optional<std::basic_string<ORTCHAR_T>>& eval_model = std::nullopt,
                  const std::optional<std::basic_string<ORTCHAR_T>>& optimizer = std::nullopt) {
    const auto& api = GetTrainingApi();
    detail::check(api.CreateTrainingSession(env, options, state, train_model.c_str(),
                                            eval_model ? eval_model->c_str() : nullptr,
                                            optimizer ? optimizer->c_str() : nullptr, &p_));
    detail::check(api.TrainingSessionGetTrainingModelOutputCount(p_, &training_outputs_));
    detail::check(api.TrainingSessionGetEvalModelOutputCount(p_, &eval_outputs_));
  }
  std::vector<Value> TrainStep(const std::vector<Value>& inputs) {
    std::vector<OrtValue*> results(training_outputs_);
    const auto fed = pointers(inputs);
    detail::check(GetTrainingApi().TrainStep(p_, nullptr, fed.size(), fed.data(), results.size(),
                                             results.data()));
    return {results.begin(), results.end()};
  }
  std::vector<Value> EvalStep(const std::vector<Value>& inputs) {
    std::vector<OrtValue*> results(eval_outputs_);
    const auto fed = pointers(inputs);
    detail::check(GetTrainingApi().EvalStep(p_, nullptr, fed.size(), fed.data(), results.size(),
                                            results.data()));
    return {results.begin(), results.end()};
  }
  void SetLearningRate(float rate) { detail::check(GetTrainingApi().SetLearningRate(p_, rate)); }
  void OptimizerStep() { detail::check(GetTrainingApi().OptimizerStep(p_, nullptr)); }
  void LazyResetGrad() { detail::check(GetTrainingApi().LazyResetGrad(p_)); }
  void ExportModelForInferencing(const std::basic_string<ORTCHAR_T>& path,
                                 const std::vector<std::string>& output_names) {
    std::vector<const char*> names;
    for (const auto& name : output_names) names.push_back(name.c_str());
    detail::check(GetTrainingApi().ExportModelForInferencing(p_, path.c_str(), names.size(),
                                                             names.data()));
  }

 private:
  static std::vector<const OrtValue*> pointers(const std::vector<Value>& values) {
    return {values.begin(), values.end()};
  }
};

}  // namespace Ort
