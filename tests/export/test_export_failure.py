"""The error for a module that cannot be exported: the line, the reason and the remedy."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench.errors import ModelError
from workbench.export.export import export_onnx


class Failing(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function, self.layer = function, nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.layer(x))


def by_values(x: Tensor) -> Tensor:
    return x if x.mean() > 0 else -x


def grouped_by_batch(x: Tensor) -> Tensor:
    rows = x.shape[0]
    kernels = x.unsqueeze(1)[:, :, :3]
    return functional.conv1d(x.unsqueeze(0), kernels, groups=rows).squeeze(0)


def of_steps(x: Tensor) -> Tensor:
    return torch.stack([x[:, place] * place for place in range(x.shape[1])]).sum(0)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (by_values, ["in by_values: return x if x.mean() > 0", "torch.where"]),
        (lambda x: torch.linalg.inv(x @ x.t()) @ x, ["aten.linalg_inv_ex", "Replace it"]),
        (grouped_by_batch, ["groups of a convolution", "einsum"]),
        (lambda x: x.reshape(len(x), -1), ["write x.shape[0]"]),
    ],
)
def test_a_failure_says_why_and_what_to_do(
    function: Callable[[Tensor], Tensor],
    words: list[str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ModelError, match="torch cannot export Failing to ONNX") as caught:
        export_onnx(
            Failing(function),
            (torch.ones(3, 4),),
            input_names=["x"],
            output_names=["y"],
            training=True,
        )
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"
    told = capfd.readouterr()
    assert not told.out + told.err, "torch prints its graphs where it fails"


@pytest.mark.fault
def test_an_axis_fixed_by_a_loop_is_reported() -> None:
    with pytest.raises(ModelError, match=r"fixes axis 1 of input 'x', the time, .* dynamic_axes"):
        export_onnx(
            nn.Sequential(nn.Linear(4, 4), Looping()),
            (torch.ones(3, 5, 4),),
            input_names=["x"],
            output_names=["y"],
            training=True,
            dynamic_axes={"x": {1: "time"}},
        )


class Looping(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return of_steps(x)
