"""Layers that keep a computed tensor, which torch refuses to copy."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from workbench import check, load_model


@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated")
def test_a_module_with_the_older_weight_norm_is_loaded() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.utils.weight_norm(nn.Linear(4, 3)), nn.Tanh())
    assert not module[0].weight.is_leaf
    model = load_model(module, example_inputs=torch.ones(2, 4))
    assert sorted(model.parameters) == ["0.bias", "0.weight_g", "0.weight_v"]
    assert check(model).ok
    x = torch.randn(5, 4)
    torch.testing.assert_close(model.module()(x), module(x))
