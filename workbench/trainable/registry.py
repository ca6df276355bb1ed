"""All rewrites, in the order in which they are tried, and all gradients of the workbench."""

from __future__ import annotations

from collections.abc import Collection

import onnx_ir as ir

from workbench.onnx_io.graph_metadata import BACKWARD
from workbench.trainable.custom_gradient import CustomGradient
from workbench.trainable.custom_gradients.activations.clip import ClipGradient
from workbench.trainable.custom_gradients.activations.exponential_unit import (
    CeluGradient,
    EluGradient,
    SeluGradient,
)
from workbench.trainable.custom_gradients.activations.hard_unit import (
    HardSigmoidGradient,
    HardSwishGradient,
    ShrinkGradient,
    ThresholdedReluGradient,
)
from workbench.trainable.custom_gradients.activations.prelu import PReluGradient
from workbench.trainable.custom_gradients.activations.soft_unit import (
    SoftplusGradient,
    SoftsignGradient,
)
from workbench.trainable.custom_gradients.batch_normalization import (
    FrozenBatchNormalizationGradient,
)
from workbench.trainable.custom_gradients.convolution_and_pooling.average_pool import (
    AveragePoolGradient,
)
from workbench.trainable.custom_gradients.convolution_and_pooling.col2im import Col2ImGradient
from workbench.trainable.custom_gradients.convolution_and_pooling.convolution import (
    ConvTransposeGradient,
    GroupedVolumeConvGradient,
)
from workbench.trainable.custom_gradients.convolution_and_pooling.grouped_line import (
    GroupedLineConvGradient,
)
from workbench.trainable.custom_gradients.cum_sum import CumSumGradient
from workbench.trainable.custom_gradients.elementwise.atan import AtanGradient
from workbench.trainable.custom_gradients.elementwise.expand import ExpandGradient
from workbench.trainable.custom_gradients.elementwise.hyperbolic import (
    AcoshGradient,
    AsinhGradient,
    AtanhGradient,
    CoshGradient,
    SinhGradient,
)
from workbench.trainable.custom_gradients.elementwise.mod import ModGradient
from workbench.trainable.custom_gradients.elementwise.pow import PowGradient
from workbench.trainable.custom_gradients.elementwise.scalar import (
    ScalarErfGradient,
    ScalarPowGradient,
    ScalarSqrtGradient,
    ScalarWhereGradient,
)
from workbench.trainable.custom_gradients.elementwise.trigonometry import (
    AcosGradient,
    AsinGradient,
    TanGradient,
)
from workbench.trainable.custom_gradients.elementwise.variadic import MeanGradient, SumGradient
from workbench.trainable.custom_gradients.elementwise.where import WhereGradient
from workbench.trainable.custom_gradients.indexing.concat import ConcatGradient
from workbench.trainable.custom_gradients.indexing.depth_to_space import (
    DepthToSpaceGradient,
    SpaceToDepthGradient,
)
from workbench.trainable.custom_gradients.indexing.pad import (
    ConstantPadGradient,
    RepeatingPadGradient,
)
from workbench.trainable.custom_gradients.indexing.padded_embedding import PaddedEmbeddingGradient
from workbench.trainable.custom_gradients.indexing.resize import RepeatingResizeGradient
from workbench.trainable.custom_gradients.indexing.scatter import ScatterElementsGradient
from workbench.trainable.custom_gradients.indexing.slice import SliceGradient
from workbench.trainable.custom_gradients.products.einsum import EinsumGradient
from workbench.trainable.custom_gradients.products.gemm import FoundRowsGemmGradient
from workbench.trainable.custom_gradients.products.matmul import MatMulVectorGradient
from workbench.trainable.custom_gradients.reduction import (
    ReduceL1Gradient,
    ReduceL2Gradient,
    ReduceLogSumGradient,
    ReduceMaxGradient,
    ReduceMinGradient,
    ReduceProdGradient,
    ReduceSumSquareGradient,
)
from workbench.trainable.custom_gradients.rnn import RNNGradient
from workbench.trainable.rewrite import Rewrite
from workbench.trainable.rewrites.buffer_update import CarryBufferUpdate
from workbench.trainable.rewrites.cast_like import CastLikeToCast
from workbench.trainable.rewrites.dropout import CompleteDropout, DropoutOfAllToZero
from workbench.trainable.rewrites.gelu import DecomposedGeluToFastGelu, TanhGeluToFastGelu
from workbench.trainable.rewrites.max_pool import PoolCopyOfParameter
from workbench.trainable.rewrites.mish import MishToSoftplus
from workbench.trainable.rewrites.no_op_cast import NoOpCastToIdentity
from workbench.trainable.rewrites.normalization.batch_normalization import TrainBatchNormalization
from workbench.trainable.rewrites.normalization.instance_normalization import (
    InstanceToLayerNormalization,
)
from workbench.trainable.rewrites.normalization.layer_normalization import (
    CompleteLayerNormalization,
)
from workbench.trainable.rewrites.normalization.untrained_scale import (
    BatchNormalizationUntrainedScale,
    LayerNormalizationUntrainedScale,
)
from workbench.trainable.rewrites.recurrence import (
    OneDirectionGRU,
    OneDirectionLSTM,
    OneDirectionRNN,
)
from workbench.trainable.rewrites.resize import ResizeToMatMul
from workbench.trainable.rewrites.scatter import ScatterSlicesInOrder
from workbench.trainable.rewrites.split.split_to_sequence import SequenceToSplit
from workbench.trainable.rewrites.split.split_unused import UnusedSplitToSlices
from workbench.trainable.rewrites.unsqueeze import UnsqueezeAlongList

REWRITES: tuple[Rewrite, ...] = (
    SequenceToSplit(),
    CastLikeToCast(),
    NoOpCastToIdentity(),
    ScatterSlicesInOrder(),
    InstanceToLayerNormalization(),
    CompleteLayerNormalization(),
    OneDirectionLSTM(),
    OneDirectionGRU(),
    OneDirectionRNN(),
    DropoutOfAllToZero(),
    CompleteDropout(),
    TanhGeluToFastGelu(),
    DecomposedGeluToFastGelu(),
    MishToSoftplus(),
    TrainBatchNormalization(),
    CarryBufferUpdate(),
    UnusedSplitToSlices(),
    UnsqueezeAlongList(),
    ResizeToMatMul(),
    PoolCopyOfParameter(),
    BatchNormalizationUntrainedScale(),
    LayerNormalizationUntrainedScale(),
)
"""When a rewrite is applied, those before it were applied to the whole graph."""

OWN_GRADIENTS: tuple[CustomGradient, ...] = (
    AtanGradient(),
    ClipGradient(),
    CeluGradient(),
    EluGradient(),
    ExpandGradient(),
    SeluGradient(),
    HardSigmoidGradient(),
    HardSwishGradient(),
    ShrinkGradient(),
    ThresholdedReluGradient(),
    AcoshGradient(),
    AsinhGradient(),
    AtanhGradient(),
    CoshGradient(),
    SinhGradient(),
    ModGradient(),
    PowGradient(),
    PReluGradient(),
    SoftplusGradient(),
    SoftsignGradient(),
    AcosGradient(),
    AsinGradient(),
    TanGradient(),
    AveragePoolGradient(),
    ConstantPadGradient(),
    ConvTransposeGradient(),
    DepthToSpaceGradient(),
    GroupedLineConvGradient(),
    GroupedVolumeConvGradient(),
    RepeatingPadGradient(),
    RepeatingResizeGradient(),
    SpaceToDepthGradient(),
    FrozenBatchNormalizationGradient(),
    PaddedEmbeddingGradient(),
    RNNGradient(),
    Col2ImGradient(),
    ConcatGradient(),
    CumSumGradient(),
    EinsumGradient(),
    FoundRowsGemmGradient(),
    MatMulVectorGradient(),
    MeanGradient(),
    ReduceL1Gradient(),
    ReduceL2Gradient(),
    ReduceLogSumGradient(),
    ReduceMaxGradient(),
    ReduceMinGradient(),
    ReduceProdGradient(),
    ReduceSumSquareGradient(),
    ScalarErfGradient(),
    ScalarPowGradient(),
    ScalarSqrtGradient(),
    ScalarWhereGradient(),
    ScatterElementsGradient(),
    SliceGradient(),
    SumGradient(),
    WhereGradient(),
)
"""The first that applies to a node is its gradient, even where ONNX Runtime has one."""


def own_gradient(node: ir.Node, inputs_requiring_grad: Collection[int]) -> CustomGradient | None:
    """The workbench's gradient for `node`, by the inputs that require grad; None if none."""
    if node.domain or not inputs_requiring_grad or BACKWARD in node.metadata_props:
        return None
    candidates = (own for own in OWN_GRADIENTS if own.op == node.op_type)
    return next((own for own in candidates if own.applies(node, inputs_requiring_grad)), None)
