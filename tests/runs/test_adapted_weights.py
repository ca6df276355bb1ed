"""The record of the weights that LoRA adapts."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import RunFolderError
from workbench.runs.adapted_weights import recorded_weights


@pytest.mark.fault
@pytest.mark.parametrize("records", [None, 3, [["head"]]])
def test_weights_that_lora_adapts_are_named_by_the_record(records: Any) -> None:
    assert recorded_weights({"config": {}}) == ()
    assert recorded_weights({"config": {"lora": None}, "adapted_weights": None}) == ()
    with pytest.raises(
        RunFolderError, match="does not say which weights LoRA adapts: it has adapt"
    ):
        recorded_weights({"config": {"lora": {"rank": 2}}, "adapted_weights": records})
