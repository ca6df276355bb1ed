"""Artifacts that several tests only read, generated once."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.artifacts import Artifacts


@pytest.fixture(autouse=True)
def _made_anew(no_export_cache: None) -> None:
    """These tests are about generating."""


@pytest.fixture(scope="session")
def cnn_artifacts(tmp_path_factory: pytest.TempPathFactory) -> Artifacts:
    """Of digits-cnn, with a nominal checkpoint, in a folder whose parent was missing."""
    directory = tmp_path_factory.mktemp("artifacts") / "missing" / "cnn"
    phases: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE", "off")
        made = wb.generate_artifacts(
            wb.load_model("digits-cnn"),
            directory=directory,
            nominal_checkpoint=True,
            report=phases.append,
        )
    assert phases[0] == "loading the model"
    assert phases[-1] == "writing the artifacts"
    return made
