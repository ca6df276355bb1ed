"""Artifacts whose folder was replaced since: refused, and never answered for by the others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from workbench.artifacts import Artifacts
from workbench.errors import ArtifactsError
from workbench.graph_view.source_graphs import graphs_of_source


def bundled(artifacts: Artifacts) -> object:
    return artifacts.bundle(artifacts.directory.parent / "bundle.zip")


READERS: dict[str, Callable[[Artifacts], object]] = {
    "footprint": lambda artifacts: artifacts.footprint(32),
    "largest_batch": lambda artifacts: artifacts.largest_batch(10**9),
    "required_operators": lambda artifacts: artifacts.required_operators(),
    "bundle": bundled,
    "constants": lambda artifacts: artifacts.constants(),
    "graphs": lambda artifacts: graphs_of_source(artifacts).read("training", lambda _: None),
}
"""The functions that read the files, by name."""


@pytest.fixture(scope="module")
def pair(
    cnn_artifacts: Artifacts, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Artifacts, Artifacts]:
    """Of one model, generated one after the other in the workbench's home."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "artifacts" / "digits-cnn"
    first = Artifacts.load(shutil.copytree(cnn_artifacts.directory, folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(home))
        return first, wb.generate_artifacts(
            "digits-cnn", requires_grad=("output.*",), optimizer="sgd"
        )


@pytest.mark.parametrize("name", READERS)
def test_artifacts_generated_again_are_not_taken_for_the_first(
    name: str, pair: tuple[Artifacts, Artifacts]
) -> None:
    first, second = pair
    assert first.directory == second.directory
    assert first.trainable_count > second.trainable_count
    with pytest.raises(ArtifactsError, match=r"generated again since.*directory="):
        READERS[name](first)


def test_new_and_reloaded_artifacts_can_be_read(pair: tuple[Artifacts, Artifacts]) -> None:
    first, second = pair
    assert Artifacts.load(first.directory).manifest == second.manifest
    assert second.footprint(32).optimizer_state_bytes == 0


@pytest.mark.fault
@pytest.mark.parametrize("name", ["footprint", "required_operators", "bundle"])
def test_a_foreign_checkpoint_in_the_folder_is_refused(
    name: str, cnn_artifacts: Artifacts, tmp_path: Path
) -> None:
    artifacts = Artifacts.load(shutil.copytree(cnn_artifacts.directory, tmp_path / "copy"))
    content = artifacts.checkpoint.read_bytes()
    artifacts.checkpoint.write_bytes(os.urandom(len(content)))
    with pytest.raises(ArtifactsError, match=r"checkpoint was changed: its SHA-256 differs"):
        READERS[name](artifacts)
    assert not (tmp_path / "bundle.zip").exists()


@pytest.mark.fault
def test_a_removed_folder_is_an_error(cnn_artifacts: Artifacts, tmp_path: Path) -> None:
    artifacts = Artifacts.load(shutil.copytree(cnn_artifacts.directory, tmp_path / "copy"))
    shutil.rmtree(artifacts.directory)
    with pytest.raises(ArtifactsError, match="contains no training artifacts"):
        artifacts.footprint(8)
