"""Rows of the layer table."""

from __future__ import annotations

from workbench.controller.model.inspection import layer_rows
from workbench.models import Layer

LAYERS = [
    Layer("node_Conv", "Conv", ("batch", 16, 8, 8), 144, 576),
    Layer("node_relu", "Relu", ("batch", 16, 8, 8), 0, 0),
]
SHAPES = {"conv1.weight": (16, 1, 3, 3)}


def test_nodes_of_an_onnx_file_train_though_their_parameters_have_other_names() -> None:
    def states(trained: list[str] | None, checked: bool = True) -> list[str]:
        return [row.state for row in layer_rows(LAYERS, SHAPES, trained, {} if checked else None)]

    assert states([*SHAPES]) == ["trains", "none"]
    assert states([]) == ["", "none"], "not known of which node they are"
    assert states(None, checked=False) == ["", ""]
