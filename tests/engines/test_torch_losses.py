"""The loss of the torch engines: first output against the target."""

from __future__ import annotations

import pytest
import torch

from workbench.engines.torch_losses import first_output, loss_function
from workbench.errors import DataError


@pytest.mark.parametrize(
    "nest", [lambda a, b: (a, b), lambda a, b: [[a], b], lambda a, b: {"x": a}]
)
def test_the_first_output_is_found_in_any_nesting(nest: object) -> None:
    one, two = torch.zeros(1), torch.ones(1)
    assert first_output(nest(one, two)) is one  # type: ignore[operator]
    assert first_output((None, two)) is two


def test_a_model_without_a_tensor_output_is_refused() -> None:
    with pytest.raises(DataError, match="returned NoneType"):
        first_output(None)


@pytest.mark.parametrize("name", ["mse", "l1", "bce_with_logits"])
def test_shapes_are_not_broadcast(name: str) -> None:
    with pytest.raises(DataError, match=r"\(4, 1\).*\(4,\)"):
        loss_function(name)(torch.zeros(4, 1), torch.zeros(4))


def test_classes_may_come_last() -> None:
    output = torch.randn(2, 3, 5)
    target = torch.randint(0, 5, (2, 3))
    loss = loss_function("cross_entropy")
    difference = abs(loss(output, target) - loss(output.transpose(1, 2), target)).item()
    assert difference <= 1e-6
