"""What a module returns beside its tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from workbench.errors import UntrainableError
from workbench.ort.ortmodule.capture.kept_objects import settled
from workbench.ort.ortmodule.capture.structure import Structure, flatten, rebuild

SHARED = [1]


class Returns(nn.Module):
    """Beside its tensor a string of its size, and two lists, of which one is always the same."""

    def forward(self, x: torch.Tensor) -> Any:
        return x, f"n{x.shape[0]}", [{2}, SHARED]


def of_results(value: Any) -> Structure:
    x = torch.zeros(3, 4)
    arguments = flatten(((x,), {}), [])
    structure = flatten(value, [], results=True)
    return settled(structure, Returns(), arguments, [x], [{}])


@pytest.mark.fault
def test_a_string_that_follows_a_size_is_refused() -> None:
    with pytest.raises(UntrainableError, match=r"str 'ns21'.* at result\[1\]"):
        of_results((torch.zeros(3, 4), "ns21", [{2}, SHARED]))


def test_an_object_comes_back_fresh_at_every_call() -> None:
    structure = of_results((torch.zeros(3, 4), "n3", [{2}, SHARED]))
    first, second = (rebuild(structure, iter([torch.zeros(1)]))[2] for _ in range(2))
    first[0].add(5)
    assert second[0] == {2}


@pytest.mark.fault
def test_an_array_that_holds_a_tensor_of_the_graph_is_refused() -> None:
    array = np.empty(1, object)
    with FakeTensorMode():
        array[0] = torch.zeros(2)
    with pytest.raises(UntrainableError, match=r"numpy.ndarray.* at result\[1\]"):
        flatten((1, array), [], results=True)
