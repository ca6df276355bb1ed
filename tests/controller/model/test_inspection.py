"""Rows of the layer table."""

from __future__ import annotations

from workbench.controller.model.inspection import layer_rows, with_frozen
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


def test_layers_that_are_frozen_by_choice_say_so() -> None:
    layers = [Layer(name, "Linear", ("batch", 4), 8, 32) for name in ("first", "second", "last")]
    shapes = {f"{layer.name}.{kind}": (4,) for layer in layers for kind in ("weight", "bias")}
    rows = layer_rows(layers, shapes, [*shapes], {})

    def states(trained: list[str] | None) -> list[str]:
        return [row.state for row in with_frozen(rows, shapes, trained)]

    assert states(None) == states([*shapes]) == ["trains"] * 3
    trained = ["second.bias", "last.weight", "last.bias"]
    assert states(trained) == ["frozen", "part", "trains"]
    rewritten = [row._replace(state="rewritten") for row in rows]
    found = with_frozen(rewritten, shapes, trained)
    assert [row.state for row in found] == ["frozen", "rewritten", "rewritten"]
    assert [row.state for row in layer_rows(layers, shapes, trained, {})] == states(trained)
    cannot = [row._replace(state="cannot") for row in rows]
    assert [row.state for row in with_frozen(cannot, shapes, [])] == ["cannot"] * 3
