"""Normalization of activations and of weights."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations

from tests.coverage.case import Case, Operation, normal, of, through
from tests.coverage.cases_convolutions import IMAGE, LINE, VOLUME, layer

CUMULATIVE = (
    "keeps a cumulative average of its statistics (momentum=None), which ONNX cannot express"
)
"""Its step would depend on how many steps there were."""
TOKENS = (normal((5, 8)), normal((2, 3, 8)))


def batch_norm(rank: int, **settings: object) -> nn.Module:
    """A layer whose weight, bias and statistics are not those that every layer begins with."""
    made = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[rank - 1](4, **settings)  # type: ignore[arg-type]
    if made.affine:
        nn.init.uniform_(made.weight, 0.5, 1.5)
        nn.init.uniform_(made.bias, -0.5, 0.5)
    if made.running_mean is not None and made.running_var is not None:
        nn.init.uniform_(made.running_mean, -0.5, 0.5)
        nn.init.uniform_(made.running_var, 0.5, 1.5)
    return made


def frozen_batch_norm() -> nn.Module:
    """In evaluation mode while the rest trains: it uses its statistics and keeps them."""
    return batch_norm(2).eval()


def affine(made: nn.Module) -> Operation:
    for parameter in made.parameters():
        nn.init.uniform_(parameter, 0.5, 1.5)
    return made


def old_weight_norm(made: nn.Module) -> nn.Module:
    """Normalized by a hook, as in models from before torch had parametrizations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return nn.utils.weight_norm(made)


class Shared(nn.Module):
    """One layer, normalizing twice."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = batch_norm(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(torch.tanh(self.norm(x)) * 2.0 + x)


CASES: tuple[Case, ...] = (
    through("BatchNorm1d", lambda: batch_norm(1), normal((4,)), *LINE),
    through("BatchNorm2d", lambda: batch_norm(2), *IMAGE),
    through("BatchNorm3d", lambda: batch_norm(3), *VOLUME),
    through("BatchNorm2d, momentum 0.3", lambda: batch_norm(2, momentum=0.3), *IMAGE),
    through(
        "BatchNorm2d, cumulative average",
        lambda: batch_norm(2, momentum=None),
        *IMAGE,
        refusals={"ondevice": CUMULATIVE, "ortmodule": CUMULATIVE},
    ),
    through("BatchNorm2d, no affine", lambda: batch_norm(2, affine=False), *IMAGE),
    through("BatchNorm2d, no statistics", lambda: batch_norm(2, track_running_stats=False), *IMAGE),
    through("BatchNorm2d, frozen", frozen_batch_norm, *IMAGE),
    through("BatchNorm2d, used twice", Shared, *IMAGE),
    through("LayerNorm", lambda: affine(nn.LayerNorm(8)), *TOKENS),
    through("LayerNorm, two axes", lambda: affine(nn.LayerNorm((5, 8))), TOKENS[0]),
    through("LayerNorm, no affine", layer(nn.LayerNorm, 8, elementwise_affine=False), *TOKENS),
    through("LayerNorm, no bias", lambda: affine(nn.LayerNorm(8, bias=False)), *TOKENS),
    through("GroupNorm", lambda: affine(nn.GroupNorm(2, 4)), *IMAGE, *LINE),
    through("GroupNorm, one group", lambda: affine(nn.GroupNorm(1, 4)), *IMAGE),
    through("GroupNorm, no affine", layer(nn.GroupNorm, 2, 4, affine=False), *IMAGE),
    through("InstanceNorm1d", layer(nn.InstanceNorm1d, 4), *LINE),
    through("InstanceNorm2d", layer(nn.InstanceNorm2d, 4), *IMAGE),
    through("InstanceNorm3d", layer(nn.InstanceNorm3d, 4), *VOLUME),
    through("InstanceNorm2d, affine", lambda: affine(nn.InstanceNorm2d(4, affine=True)), *IMAGE),
    through("RMSNorm", lambda: affine(nn.RMSNorm(8)), *TOKENS),
    through("RMSNorm, no affine", layer(nn.RMSNorm, 8, elementwise_affine=False), *TOKENS),
    through("RMSNorm, eps", lambda: affine(nn.RMSNorm(8, eps=0.1)), *TOKENS),
    of(
        "RMSNorm, written out",
        lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6),
        *TOKENS,
    ),
    through("LocalResponseNorm", layer(nn.LocalResponseNorm, 3, alpha=0.5), *IMAGE, *LINE),
    through("LocalResponseNorm, even size", layer(nn.LocalResponseNorm, 2, alpha=0.5), *IMAGE),
    through(
        "weight norm, Linear",
        lambda: parametrizations.weight_norm(nn.Linear(8, 3)),
        *TOKENS,
    ),
    through(
        "weight norm, Conv2d", lambda: parametrizations.weight_norm(nn.Conv2d(4, 3, 3)), *IMAGE
    ),
    through("weight norm, as it was", lambda: old_weight_norm(nn.Linear(8, 3)), *TOKENS),
    of("F.normalize", lambda x: functional.normalize(x, dim=-1), *TOKENS),
    of("F.normalize, p=1, dim=1", lambda x: functional.normalize(x, p=1.0, dim=1), *TOKENS),
    of("F.layer_norm", lambda x: functional.layer_norm(x, (8,)), *TOKENS),
)
