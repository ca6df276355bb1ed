"""What the fields of a model and a dataset offer."""

from __future__ import annotations

import numpy as np

from workbench.controller.model.sources import Sources
from workbench.widgets.model.options import dataset_options, model_options


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
