"""The process that runs exported models answers the question that was asked, or none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.processes import until
from workbench.errors import EngineError
from workbench.inference import process
from workbench.inference.process import InferenceProcess

PATIENCE_S = 60


@pytest.fixture
def doubling(tmp_path: Path) -> Path:
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    node = helper.make_node("Add", ["x", "x"], ["y"])
    model = helper.make_model(
        helper.make_graph([node], "doubling", value[:1], value[1:]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.save(model, tmp_path / "doubling.onnx")
    return tmp_path / "doubling.onnx"


@pytest.fixture
def child() -> Iterator[InferenceProcess]:
    with InferenceProcess() as made:
        yield made


def inputs(value: float) -> dict[str, np.ndarray]:
    return {"x": np.full(2, value, np.float32)}


@pytest.mark.fault
def test_the_answer_to_an_interrupted_question_is_not_given_to_the_next(
    child: InferenceProcess, doubling: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert child.run(doubling, inputs(1))["y"].tolist() == [2, 2]

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(process, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            child.run(doubling, inputs(2))
    with pytest.raises(EngineError, match="has ended"):
        child.run(doubling, inputs(3))


@pytest.mark.fault
def test_a_process_that_does_not_answer_can_be_closed(
    child: InferenceProcess, doubling: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[Exception] = []

    def ask() -> None:
        try:
            child.run(doubling, inputs(1))
        except EngineError as error:
            errors.append(error)

    monkeypatch.setattr(process, "send", lambda *_: None)  # so that no answer ever comes
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    until(child._lock.locked)
    closing = threading.Thread(target=child.close, daemon=True)
    closing.start()
    for thread in (closing, asking):
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    assert "has ended. It was closed." in str(errors[0])
