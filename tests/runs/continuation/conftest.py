"""Runs of the fake engine that have ended."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.runs.continuation.fake_training import started
from workbench.data import Dataset
from workbench.run_folder.run_folder import home
from workbench.runs import Run, load_run


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Of the runs that several tests read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module")
def uninterrupted(digits: Dataset, shared_home: None) -> Run:
    return started(digits).wait(120)


@pytest.fixture(scope="module")
def trained(digits: Dataset, shared_home: None) -> Run:
    return started(digits, steps=4).wait(60)


@pytest.fixture
def ended(trained: Run) -> Run:
    """A copy of a run of four steps, for this test to damage."""
    shutil.copytree(trained.folder.path, home() / "runs" / trained.id)
    return load_run(trained.id)
