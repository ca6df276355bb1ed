"""Class losses written out equal those of `torch.nn.functional` in value and gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from workbench.export.traced.class_losses import cross_entropy, nll_loss

WEIGHT = torch.tensor([0.5, 2.0, 1.0, 3.0], dtype=torch.float64)
SHAPES = [(6, 4), (6, 4, 3), (6, 4, 3, 2), (4,)]


def difference(
    mine: Callable[..., Any], theirs: Callable[..., Any], shape: Any, **options: Any
) -> float:
    torch.manual_seed(0)
    output = torch.randn(shape, dtype=torch.float64)
    target = options.pop("target", None)
    if target is None:
        axis = 0 if len(shape) == 1 else 1
        target = torch.randint(0, 4, shape[:axis] + shape[axis + 1 :])
    found = []
    for function in (mine, theirs):
        x = output.clone().requires_grad_()
        value = function(x, target, **options)
        value.square().sum().backward()
        found += [value.detach(), x.grad]
    assert found[0].shape == found[2].shape
    return max((found[place] - found[place + 2]).abs().max().item() for place in (0, 1))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("ignore_index", [-100, 2])
def test_class_numbers(
    shape: tuple[int, ...], reduction: str, weight: torch.Tensor | None, ignore_index: int
) -> None:
    options = {"reduction": reduction, "weight": weight, "ignore_index": ignore_index}
    assert difference(nll_loss, functional.nll_loss, shape, **options) < 1e-10
    for smoothing in (0.0, 0.2):
        options["label_smoothing"] = smoothing
        worst = difference(cross_entropy, functional.cross_entropy, shape, **options)
        assert worst < 1e-10, f"with label_smoothing={smoothing} they differ by {worst:.1e}"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_class_probabilities(
    shape: tuple[int, ...], reduction: str, weight: torch.Tensor | None, smoothing: float
) -> None:
    target = torch.rand(shape, dtype=torch.float64).softmax(0 if len(shape) == 1 else 1)
    options = {"reduction": reduction, "weight": weight, "label_smoothing": smoothing}
    worst = difference(cross_entropy, functional.cross_entropy, shape, target=target, **options)
    assert worst < 1e-10, f"they differ by {worst:.1e}"


@pytest.mark.parametrize("older", [{"reduce": False}, {"size_average": False}, {"reduce": True}])
@pytest.mark.filterwarnings("ignore:.*size_average and reduce.*")
def test_older_arguments(older: dict[str, bool]) -> None:
    for mine, theirs in (
        (nll_loss, functional.nll_loss),
        (cross_entropy, functional.cross_entropy),
    ):
        assert difference(mine, theirs, (6, 4), **older) < 1e-10
