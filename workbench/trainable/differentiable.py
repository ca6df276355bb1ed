"""The operators that ONNX Runtime can differentiate, as data.

The set was read from the gradient builders in the library of onnxruntime-training-cpu 1.19.2,
and each was then checked on the CPU against finite differences.
`obstacles.limits` has the cases where those checks failed.
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
    "Slice", "Softmax", "SoftmaxCrossEntropyLoss", "Split", "Sqrt", "Squeeze", "Sub", "Tanh",
    "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Where",
})  # fmt: skip
"""Ops of the default domain whose gradient ONNX Runtime builds and runs on the CPU."""

DIFFERENTIABLE_MICROSOFT = frozenset({"BiasGelu", "FastGelu", "Gelu", "QuickGelu"})
"""The same, of ONNX Runtime's own domain."""

STEPS = frozenset({"Ceil", "Floor", "Round", "Sign"})
"""Ops whose derivative is zero wherever it exists; PyTorch propagates zeros. ONNX Runtime does not
know that the gradient may stop there."""

CONSTANT_RESULT = STEPS | frozenset({
    "And", "ArgMax", "ArgMin", "ConstantOfShape", "Equal", "EyeLike", "Greater",
    "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "NonZero", "Not", "OneHot", "Or",
    "RandomNormalLike", "RandomUniformLike", "Range", "Shape", "Size", "Xor",
})  # fmt: skip
"""Ops whose result does not vary smoothly with their inputs: no gradient passes through them."""

INSTEAD = {
    "Compress": "torch.where or a product with the mask, whose result has a fixed size,",
    "ConvTranspose": "one of static sizes with explicit pads and output_padding below its strides",
    "InstanceNormalization": "LayerNorm, or opset 18 or later,",
    "PRelu": "LeakyReLU",
    "RNN": "tanh or ReLU over sequences of equal length, or GRU or LSTM,",
    "Resize": "a Resize of static sizes, without axes or tf_crop_and_resize,",
}
"""Alternatives to an op without a gradient."""
