"""What the fields of a model and a dataset offer."""

from __future__ import annotations

import numpy as np
import torch

from workbench.controller.model.sources import Sources
from workbench.widgets.model.options import dataset_options, model_options


def test_pairs_of_arrays_with_as_many_rows_are_offered() -> None:
    names = {
        "y": np.zeros(6, np.int64),
        "X": np.zeros((6, 4)),
        "x_test": torch.zeros(3, 4),
        "y_test": torch.zeros(3, 1),
        "scale": np.float32(2),
        "one": np.zeros((1, 4)),
        "row": np.zeros(1),
    }
    options = dataset_options(Sources(lambda: names), "")
    own = [each for each in options if each["group"] == "Notebook"]
    assert [each["value"] for each in own] == ["X, y", "x_test, y_test"]
    assert own[0]["detail"] == "inputs of shape (6, 4), target of shape (6,)"


def test_a_name_that_is_typed_is_an_option_whatever_it_names() -> None:
    """Enter would take the only option that contains it: `digits-pixels` for X."""
    sources = Sources(lambda: {"X": np.zeros((6, 4)), "number": 7})

    def own(text: str) -> list[tuple[str, str]]:
        options = dataset_options(sources, text)
        return [(each["value"], each["detail"]) for each in options if each["group"] == "Notebook"]

    assert own("X") == [("X", "ndarray")]
    assert own(" number ") == [("number", "int")]
    assert own("") == own("nothing") == own("X, number") == []
    typed = [each for each in model_options(sources, "X") if each["group"] == "Notebook"]
    assert typed == [{"value": "X", "detail": "ndarray", "group": "Notebook"}]
