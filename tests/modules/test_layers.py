"""What is listed of the layers of a module."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from workbench.modules.layers import module_layers

WIDTH, QUERIES, KEYS = 8, 5, 3


class Attention(nn.Module):
    def __init__(self, *, by_name: bool, **settings: object) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 2, **settings)  # type: ignore[arg-type]
        self.by_name = by_name

    def forward(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        if not self.attention.batch_first:
            queries, keys = queries.transpose(0, 1), keys.transpose(0, 1)
        if self.by_name:
            found, _ = self.attention(query=queries, key=keys, value=keys)
        else:
            found, _ = self.attention(queries, keys, keys)
        return found if self.attention.batch_first else found.transpose(0, 1)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize(
    ("more_keys", "settings"), [(0, {}), (2, {"add_bias_kv": True, "add_zero_attn": True})]
)
def test_multiply_adds_of_attention(
    batch_first: bool, by_name: bool, more_keys: int, settings: dict[str, bool]
) -> None:
    module = Attention(by_name=by_name, batch_first=batch_first, **settings)
    inputs = [np.ones((2, length, WIDTH), np.float32) for length in (QUERIES, KEYS)]
    [attention] = [each for each in module_layers(module, inputs) if each.name == "attention"]
    projections = 2 * (QUERIES + KEYS) * WIDTH * WIDTH
    products = 2 * QUERIES * (KEYS + more_keys) * WIDTH
    assert attention.multiply_adds == projections + products
    assert not module.attention._forward_pre_hooks
