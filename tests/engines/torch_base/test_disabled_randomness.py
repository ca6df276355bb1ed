"""PyTorch with constants in place of random draws."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench.engines.torch_base.disabled_randomness import disable_dropout, disable_randomness

X = torch.linspace(-1, 1, 4 * 6 * 8).reshape(4, 6, 8)


def test_every_form_of_dropout_is_disabled() -> None:
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2, dropout=0.4, batch_first=True)
    recurrent = nn.LSTM(8, 5, 2, dropout=0.4)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True)
    forms: dict[str, Callable[[], Tensor]] = {
        "nn.Dropout": lambda: nn.Dropout(0.5)(X),
        "functional": lambda: functional.dropout(X, 0.3),
        "channels": lambda: functional.dropout2d(X[..., None], 0.3)[..., 0],
        "torch": lambda: torch.dropout(X, 0.3, True),
    }
    with disable_randomness():
        for name, form in forms.items():
            torch.testing.assert_close(form(), X, msg=f"{name} changed its input")
    for module in (attention, recurrent, layer):
        arguments = (X, X, X) if module is attention else (X,)
        expected = module.eval()(*arguments)
        with disable_randomness():
            found = module.train()(*arguments)
        pairs = [(expected, found)] if module is layer else [(expected[0], found[0])]
        for one, other in pairs:
            torch.testing.assert_close(one, other)


def test_draws_are_constants() -> None:
    scale = torch.tensor([1.0, 2.0])
    with disable_randomness():
        assert (torch.rand(3) == 0.5).all()
        assert (torch.randn_like(X) == 0.5).all()
        assert (torch.empty(3).uniform_(2, 4) == 3).all()
        assert (torch.empty(3).normal_(1, 4) == 3).all()
        assert torch.normal(torch.tensor([1.0, 1.0]), scale).tolist() == [1.5, 2.0]
        assert torch.bernoulli(torch.tensor([0.25, 0.75])).tolist() == [0.25, 0.75]
        assert torch.empty(2).exponential_(2).tolist() == pytest.approx([math.log(2) / 2] * 2)
    assert torch.rand(100).std() > 0


def test_a_gradient_passes_through_what_a_draw_is_scaled_with() -> None:
    scale = torch.ones(4, requires_grad=True)
    with disable_randomness():
        total = (torch.randn(4) * scale).sum()
    (gradient,) = torch.autograd.grad(total, scale)
    assert gradient.tolist() == [0.5] * 4


def test_dropout_of_a_module_can_be_turned_off() -> None:
    module = nn.Sequential(nn.Dropout(0.5), nn.Dropout1d(0.5), nn.AlphaDropout(0.5)).train()
    disable_dropout(module)
    torch.testing.assert_close(module(X), X)
    recurrent = nn.GRU(8, 5, 2, dropout=0.4).train()
    disable_dropout(recurrent)
    torch.testing.assert_close(recurrent(X)[0], recurrent.eval()(X)[0])


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("bounds", [(), (0.1, 0.5)])
def test_rrelu_takes_the_middle_of_its_slopes(bounds: tuple[float, ...], training: bool) -> None:
    low, high = bounds or (1 / 8, 1 / 3)
    expected = functional.leaky_relu(X, (low + high) / 2)
    with disable_randomness():
        found = functional.rrelu(X, *bounds, training=training)
        in_place = functional.rrelu_(X.clone(), *bounds, training=training)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(in_place, expected)
