"""The card of a model and the table of its layers."""

from __future__ import annotations

from workbench.controller.model.inspection import LayerRow
from workbench.load import load_model
from workbench.models import Layer
from workbench.widgets.model.layer_table import LayerTable
from workbench.widgets.model.model_card import ModelCard


def test_the_card_needs_no_pytorch_and_the_layers_are_text() -> None:
    card = ModelCard()
    card.show(load_model("digits-mlp"))
    assert card.card
    assert ["Outputs", "logits: batch × 10, float32"] in card.facts  # noqa: RUF001
    table = LayerTable()
    layer = Layer("hidden", "Linear", ("batch", 128), 8320, 33280, 8192)
    table.show([LayerRow(layer, "trains")])
    assert table.layers[0]["multiply_adds"] == 8192
    assert table.layers[0]["output_shape"] == "batch × 128"  # noqa: RUF001
    table.show([LayerRow(layer._replace(output_shape=None, multiply_adds=None))])
    assert table.layers[0]["multiply_adds"] == -1
    assert table.layers[0]["output_shape"] == ""
