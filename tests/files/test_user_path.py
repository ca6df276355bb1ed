"""Paths that begin with ~."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import ModelError
from workbench.files.output_file import output_path
from workbench.files.user_path import user_path


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_path("~/model.onnx") == output_path("~/model.onnx", ModelError)
    assert user_path("~/model.onnx") == tmp_path / "model.onnx"


@pytest.mark.parametrize("path", ["~nobody-of-that-name/model.onnx", "a/~b", "model.onnx", "a\0b"])
def test_other_paths_stay_as_they_are(path: str) -> None:
    assert user_path(path) == Path(path)
