"""What ONNX Runtime can differentiate, as data.

The set was read from the gradient builders that the library of onnxruntime-training-cpu 1.19.2
holds, and each was then checked on the CPU against finite differences.
`limits` says where those checks failed.
"""

from __future__ import annotations

MICROSOFT = "com.microsoft"

DIFFERENTIABLE = frozenset({
    "Abs", "Add", "AveragePool", "BatchNormalization", "Cast", "Clip", "Concat", "Conv", "Cos",
    "Div", "Dropout", "Erf", "Exp", "Expand", "Flatten", "GRU", "Gather", "GatherElements",
    "GatherND", "Gelu", "Gemm", "GlobalAveragePool", "Identity", "LSTM", "LayerNormalization",
    "LeakyRelu", "Log", "LogSoftmax", "MatMul", "Max", "MaxPool", "Min", "Mul", "Neg", "Pad",
    "Pow", "Reciprocal", "ReduceL2", "ReduceLogSumExp", "ReduceMean", "ReduceSum", "Relu",
    "Reshape", "ScatterElements", "ScatterND", "Sigmoid", "SimplifiedLayerNormalization", "Sin",
    "Slice", "Softmax", "Split", "Sqrt", "Squeeze", "Sub", "Tanh", "Tile", "TopK", "Transpose",
    "Trilu", "Unsqueeze", "Where",
})  # fmt: skip
"""Ops of the default domain whose gradient ONNX Runtime builds and runs on the CPU."""

DIFFERENTIABLE_MICROSOFT = frozenset({"BiasGelu", "FastGelu", "Gelu", "QuickGelu"})
"""The same of ONNX Runtime's own domain."""

CONSTANT_RESULT = frozenset({
    "And", "ArgMax", "ArgMin", "ConstantOfShape", "Equal", "EyeLike", "Greater",
    "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "NonZero", "Not", "OneHot", "Or",
    "RandomNormalLike", "RandomUniformLike", "Range", "Shape", "Size", "Xor",
})  # fmt: skip
"""Ops whose result does not vary smoothly with their inputs: no gradient is due through them."""

INSTEAD = {
    "ConvTranspose": "upsampling by repetition followed by a convolution",
    "Einsum": "matmul and transpose",
    "Elu": "ReLU, LeakyReLU or GELU",
    "HardSigmoid": "Sigmoid",
    "HardSwish": "SiLU or GELU",
    "InstanceNormalization": "BatchNorm or LayerNorm",
    "PRelu": "LeakyReLU",
    "RNN": "GRU or LSTM",
    "ReduceMax": "torch.topk with k=1",
    "Selu": "ReLU, LeakyReLU or GELU",
    "Softplus": "ReLU or GELU",
    "Sum": "additions of two",
}
"""What may take the place of an op without a gradient."""
