// The operators of the library, one file each.
#pragma once

#include "operator.h"

namespace device_kernels {

constexpr auto kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
constexpr auto kInteger = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;

const OrtCustomOp* attention();
const OrtCustomOp* attention_gradient();
const OrtCustomOp* bias_gelu();
const OrtCustomOp* bias_gelu_gradient();
const OrtCustomOp* bias_silu();
const OrtCustomOp* bias_silu_gradient();
const OrtCustomOp* bias_tanh_gelu();
const OrtCustomOp* bias_tanh_gelu_gradient();
const OrtCustomOp* column_sum();
const OrtCustomOp* convolution();
const OrtCustomOp* convolution_gradient();
const OrtCustomOp* convolution_weight_gradient();
const OrtCustomOp* cross_entropy();
const OrtCustomOp* cross_entropy_gradient();
const OrtCustomOp* log_probability();
const OrtCustomOp* log_probability_gradient();
const OrtCustomOp* embedding_gradient();
const OrtCustomOp* gated_silu();
const OrtCustomOp* gated_silu_gradient();
const OrtCustomOp* gelu();
const OrtCustomOp* gelu_gradient();
const OrtCustomOp* layer_normalization();
const OrtCustomOp* layer_normalization_gradient();
const OrtCustomOp* log_softmax_gradient();
const OrtCustomOp* max_pool();
const OrtCustomOp* max_pool_gradient();
const OrtCustomOp* relu_gradient();
const OrtCustomOp* rms_normalization();
const OrtCustomOp* rms_normalization_gradient();
const OrtCustomOp* silu();
const OrtCustomOp* silu_gradient();
const OrtCustomOp* softmax_gradient();
const OrtCustomOp* tanh_gelu();
const OrtCustomOp* tanh_gelu_gradient();

}  // namespace device_kernels
