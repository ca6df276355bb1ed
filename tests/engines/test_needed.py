"""In CI an engine that broke is a failure, not a skip."""

from __future__ import annotations

import pytest

from tests.engines.needed import unavailable


@pytest.mark.parametrize(
    ("engine", "ci", "outcome"),
    [
        ("ondevice", "true", pytest.fail.Exception),
        ("ondevice", "", pytest.skip.Exception),
        ("pytorch-compile", "true", pytest.skip.Exception),
    ],
)
def test_an_engine_that_is_missing(
    engine: str, ci: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="no onnxruntime"):
        unavailable(engine, "no onnxruntime")
