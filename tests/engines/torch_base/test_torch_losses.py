"""The loss of the torch engines: first output against the target."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from workbench.engines.torch_base.torch_losses import TotalLoss, all_outputs, loss_function
from workbench.errors import ConfigError, DataError
from workbench.losses.loss import Loss
from workbench.losses.loss_list import as_losses


@pytest.mark.parametrize(
    "nest", [lambda a, b: (a, b), lambda a, b: [[a], b], lambda a, b: {"x": a}]
)
def test_the_first_output_is_found_in_any_nesting(nest: object) -> None:
    one, two = torch.zeros(1), torch.ones(1)
    assert all_outputs(nest(one, two))[0] is one  # type: ignore[operator]
    assert all_outputs((None, two))[0] is two


def test_a_model_without_a_tensor_output_is_refused() -> None:
    with pytest.raises(DataError, match="returned NoneType"):
        all_outputs(None)


@pytest.mark.parametrize("name", ["mse", "l1", "smooth_l1", "bce_with_logits"])
def test_shapes_are_not_broadcast(name: str) -> None:
    with pytest.raises(DataError, match=r"\(4, 1\).*\(4,\)"):
        loss_function(name)(torch.zeros(4, 1), torch.zeros(4))


def test_classes_may_come_last() -> None:
    output = torch.randn(2, 3, 5)
    target = torch.randint(0, 5, (2, 3))
    loss = loss_function("cross_entropy")
    difference = abs(loss(output, target) - loss(output.transpose(1, 2), target)).item()
    assert difference <= 1e-6


def test_options_are_those_of_functional() -> None:
    output, labels = torch.randn(6, 4), torch.randint(0, 4, (6,))
    target = torch.rand(6, 4)
    weight = torch.tensor([0.5, 1.0, 2.0, 3.0])
    pairs = [
        (
            loss_function(
                Loss("cross_entropy", weight=weight, ignore_index=1, label_smoothing=0.2, factor=2)
            )(output, labels),
            2
            * functional.cross_entropy(
                output, labels, weight=weight, ignore_index=1, label_smoothing=0.2
            ),
        ),
        (
            loss_function(Loss("nll", weight=weight, ignore_index=1))(output, labels),
            functional.nll_loss(output, labels, weight=weight, ignore_index=1),
        ),
        (
            loss_function(Loss("smooth_l1", beta=0.3))(output, target),
            functional.smooth_l1_loss(output, target, beta=0.3),
        ),
        (
            loss_function(Loss("bce_with_logits", weight=weight, pos_weight=2.0))(output, target),
            functional.binary_cross_entropy_with_logits(
                output, target, weight=weight, pos_weight=torch.tensor(2.0)
            ),
        ),
        (
            loss_function(Loss("cross_entropy", label_smoothing=0.1))(output, target),
            functional.cross_entropy(output, target, label_smoothing=0.1),
        ),
    ]
    for got, expected in pairs:
        assert torch.equal(got, expected)


def test_several_losses_add_up() -> None:
    outputs = {"logits": torch.randn(6, 4), "aux": torch.randn(6, 2)}
    labels, numbers = torch.randint(0, 4, (6,)), torch.randn(6, 2)
    expected = functional.cross_entropy(outputs["logits"], labels)
    expected = expected + 0.3 * functional.mse_loss(outputs["aux"], numbers)
    losses = as_losses({"aux": Loss("mse", factor=0.3), "logits": "cross_entropy"})
    total = TotalLoss(losses, list(outputs))
    assert total(outputs, (numbers, labels)).item() == pytest.approx(expected.item())
    assert total.read_first(outputs) is outputs["aux"]


def test_a_function_that_is_alone_gets_everything() -> None:
    one, two = torch.randn(3), torch.randn(3)

    def of_all(outputs: object, targets: object) -> torch.Tensor:
        assert isinstance(outputs, tuple)
        assert outputs[0] is one
        assert outputs[1] is two
        assert targets is two
        return torch.tensor(5.0)

    assert TotalLoss(as_losses(of_all), ["a", "b"])([one, {"b": two}], (two,)).item() == 5


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda output, target: output - target, r"float32 tensor of shape \[3\]"),
        (lambda output, target: 3.0, "float; it must return a floating-point scalar"),
        (lambda output, target: target.long().sum(), "int64 tensor"),
    ],
)
def test_a_function_returns_a_scalar(result: object, message: str) -> None:
    with pytest.raises(ConfigError, match=f"loss <lambda> returned .*{message}"):
        TotalLoss(as_losses(result), ["a"])(torch.ones(3), (torch.ones(3),))
