"""Functions that replace torch's in a trace have the same results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

from workbench.export.export import export_onnx
from workbench.export.traced.traced_functions import TracedFunctions
from workbench.onnx_io.graph_metadata import DETACHED

_generator = torch.Generator().manual_seed(0)
VECTOR = torch.randn(3, generator=_generator)
MATRIX = torch.randn(3, 4, generator=_generator)
CUBE = torch.randn(2, 3, 4, generator=_generator)

SAME: dict[str, Callable[[], Tensor]] = {
    "kron": lambda: torch.kron(MATRIX, MATRIX.T.contiguous()),
    "kron of other ranks": lambda: torch.kron(CUBE, VECTOR),
    "kron, method": lambda: VECTOR.kron(MATRIX),
    "take_along_dim": lambda: torch.take_along_dim(CUBE, CUBE.argsort(1), 1),
    "take_along_dim, broadcast": lambda: CUBE.take_along_dim(CUBE[:1].argsort(-1)[..., :2], -1),
    "take_along_dim, flat": lambda: torch.take_along_dim(MATRIX, torch.tensor([5, 0, 5])),
    "hstack": lambda: torch.hstack([CUBE, CUBE]),
    "hstack of vectors": lambda: torch.hstack([VECTOR, VECTOR[0]]),
    "vstack": lambda: torch.vstack([VECTOR, MATRIX.T]),
    "dstack": lambda: torch.dstack([CUBE, CUBE]),
    "dstack of matrices": lambda: torch.dstack([MATRIX, MATRIX]),
    "dstack of vectors": lambda: torch.dstack([VECTOR, VECTOR]),
    "column_stack": lambda: torch.column_stack([VECTOR, MATRIX]),
}


@pytest.mark.parametrize("name", SAME)
def test_results_are_those_of_torch(name: str) -> None:
    expected = SAME[name]()
    with TracedFunctions():
        made = SAME[name]()
    torch.testing.assert_close(made, expected, rtol=0, atol=1e-7)


class Stopped(nn.Module):
    """Stops the gradient in one of several ways."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.how = how

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.layer(x)
        if self.how == "detach":
            return x * hidden.detach()
        if self.how == "data":
            return x * self.layer.weight.data[0]
        if self.how == "no_grad":
            with torch.no_grad():
                return x * self.layer(x).tanh().exp()
        return x * hidden


def _stops(how: str) -> list[onnx.NodeProto]:
    x = np.zeros((2, 4), np.float32)
    made = export_onnx(Stopped(how), (x,), input_names=["x"], output_names=["y"], training=True)
    return [
        node
        for node in made.graph.node
        if any(entry.key == DETACHED for entry in node.metadata_props)
    ]


@pytest.mark.parametrize("how", ["detach", "data", "no_grad"])
def test_a_stopped_gradient_is_in_the_graph_once(how: str) -> None:
    assert [node.op_type for node in _stops(how)] == ["Clip"]


def test_a_graph_that_stops_no_gradient_has_no_such_node() -> None:
    assert not _stops("nowhere")
