"""A message shows what is wrong with a value, however long or odd the value is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.engines import engine_class
from workbench.errors import ConfigError, DataError, EngineError, ModelError, WorkbenchError

pytestmark = pytest.mark.fault

LONG = "x" * 5000
ROWS = np.zeros((4, 2), np.float32)


@pytest.mark.parametrize("engine", ["onnx", "", "fak"])
def test_the_engine_for_tests_is_not_offered(engine: str) -> None:
    with pytest.raises(ConfigError, match=r"(Known: ondevice|Did you mean)") as config:
        wb.train("digits-mlp", engine=engine)
    with pytest.raises(EngineError, match=r"(Known: ondevice|Did you mean)") as registry:
        engine_class(engine)
    for caught in (config, registry):
        assert "fake" not in str(caught.value)


def test_texts_of_an_optional_choice_are_named() -> None:
    """It named the types of Python."""
    with pytest.raises(ConfigError, match=r"privacy='yes': Known: central, local\."):
        wb.federate("digits-mlp", privacy="yes")


@pytest.mark.parametrize(
    "call",
    [
        lambda: wb.train("digits-mlp", engine=LONG),
        lambda: wb.train("digits-mlp", batch_size=[1] * 5000, steps=10**5000),
        lambda: wb.train("digits-mlp", loss=LONG),
        lambda: wb.train("digits-mlp", **{LONG: 1}),
        lambda: wb.compare("digits-mlp", quiet_s=LONG),  # type: ignore[arg-type]
        lambda: wb.Loss("cross_entropy", weight=["x"] * 3000),
    ],
)
def test_a_long_value_is_not_shown_whole(call: Callable[[], Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        call()
    assert "..." in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("call", "failure", "said"),
    [
        *((lambda value=value: wb.check(value), ModelError, "Cannot load a model from")
          for value in (None, 5, b"x", [1])),
        *((lambda value=value: wb.load_dataset(ROWS, value), DataError, "is a scalar")
          for value in (float("nan"), float("inf"), 1e308, np.float32(3), 3)),
        *((lambda value=value: wb.Loss("cross_entropy", weight=value), ConfigError, "weight=")
          for value in (10**400, [10**400], 10**5000)),
        (lambda: wb.Loss("nll", ignore_index=10**30), ConfigError, "ignore_index="),
        (lambda: wb.load_model("/proc/self/mem"), ModelError, "cannot be read"),
    ],
)  # fmt: skip
def test_unusable_values_are_refused_in_a_sentence(
    call: Callable[[], Any], failure: type[WorkbenchError], said: str
) -> None:
    with pytest.raises(failure, match=said):
        call()
