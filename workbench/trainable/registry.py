"""Every rewrite, in the order in which they are tried."""

from __future__ import annotations

from workbench.trainable.batch_normalization import TrainBatchNormalization
from workbench.trainable.cast_like import CastLikeToCast
from workbench.trainable.dropout import CompleteDropout
from workbench.trainable.gelu import TanhGeluToFastGelu
from workbench.trainable.layer_normalization import CompleteLayerNormalization
from workbench.trainable.rewrite import Rewrite
from workbench.trainable.split_to_sequence import SequenceToSplit
from workbench.trainable.split_unused import UnusedSplitToSlices

REWRITES: tuple[Rewrite, ...] = (
    SequenceToSplit(),
    CastLikeToCast(),
    CompleteLayerNormalization(),
    CompleteDropout(),
    TanhGeluToFastGelu(),
    TrainBatchNormalization(),
    UnusedSplitToSlices(),
)
"""A rewrite may rely on those before it having been applied to the whole graph."""
