// What ONNX Runtime calls when a session's options register the library.

#include "kernels.h"

using namespace device_kernels;

extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(
    OrtSessionOptions* options, const OrtApiBase* base) {
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (api == nullptr) return nullptr;  // Older than 1.19: a graph with these operators does not load.
  // It lives as long as the process, as every session that has it.
  OrtCustomOpDomain* domain = nullptr;
  OrtStatus* failed = api->CreateCustomOpDomain("workbench", &domain);
  for (const OrtCustomOp* op :
       {attention(), attention_gradient(), bias_gelu(), bias_gelu_gradient(), bias_silu(),
        bias_silu_gradient(), bias_tanh_gelu(), bias_tanh_gelu_gradient(), column_sum(), convolution(), convolution_gradient(),
        convolution_weight_gradient(), cross_entropy(), cross_entropy_gradient(),
        embedding_gradient(), gated_silu(), gated_silu_gradient(), gelu(), gelu_gradient(),
        layer_normalization(), layer_normalization_gradient(), log_probability(),
        log_probability_gradient(), log_softmax_gradient(), max_pool(),
        max_pool_gradient(), relu_gradient(), rms_normalization(), rms_normalization_gradient(),
        silu(), silu_gradient(), softmax_gradient(), tanh_gelu(), tanh_gelu_gradient()})
    if (failed == nullptr) failed = api->CustomOpDomain_Add(domain, op);
  return failed == nullptr ? api->AddCustomOpDomain(options, domain) : failed;
}
