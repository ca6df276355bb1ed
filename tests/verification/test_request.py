"""Requests and answers of a verification process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from workbench.settings.config import make_config
from workbench.verification.request import VerificationAnswer, VerificationRequest, save_arrays


def test_a_request_is_read_as_it_was_written(tmp_path: Path) -> None:
    config = make_config({"engine": "ondevice", "seed": 5, "threads": 1, "optimizer": "sgd"})
    request = VerificationRequest(
        tmp_path / "m", tmp_path / "d", "ondevice", config, tmp_path / "w"
    )
    request.write(tmp_path / "request.json")
    assert VerificationRequest.read(tmp_path / "request.json") == request
    paths = {request.entries_path, request.answer_path}
    assert len(paths) == 2
    assert {path.parent for path in paths} == {tmp_path / "w"}


@pytest.mark.parametrize(
    "answer",
    [
        VerificationAnswer(0.1 + 0.2, {"w": np.arange(6, dtype=np.float32).reshape(3, 2)}),
        VerificationAnswer(2.5, {"b": np.array([1e-300])}, "finite differences", 1 / 3),
    ],
)
def test_an_answer_is_read_to_the_last_digit(tmp_path: Path, answer: VerificationAnswer) -> None:
    answer.write(tmp_path / "answer")
    found = VerificationAnswer.read(tmp_path / "answer")
    assert (found.loss, found.source, found.tolerance) == (
        answer.loss, answer.source, answer.tolerance,
    )  # fmt: skip
    assert list(found.gradients) == list(answer.gradients)
    for name, gradient in answer.gradients.items():
        assert found.gradients[name].dtype == gradient.dtype
        np.testing.assert_array_equal(found.gradients[name], gradient)


def test_arrays_of_any_order_in_memory_are_saved_as_they_look(tmp_path: Path) -> None:
    turned = np.arange(6).reshape(2, 3).T
    save_arrays(tmp_path / "arrays", {"turned": turned, "every_other": np.arange(9)[::2]})
    found = load_file(tmp_path / "arrays")
    np.testing.assert_array_equal(found["turned"], turned)
    np.testing.assert_array_equal(found["every_other"], [0, 2, 4, 6, 8])


def test_the_answer_of_an_engine_is_not_approximate() -> None:
    assert VerificationAnswer(2.0, {})[2:] == ("", 0.0)
