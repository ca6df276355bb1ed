"""Bundles of a classifier, a regression and a token model, made once."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.artifacts.bundle.modules import token_model, two_tables
from workbench.artifacts import Artifacts

Unzip = Callable[[str], Path]


@pytest.fixture(scope="session")
def classifier_bundle(cnn_artifacts: Artifacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of digits-cnn, with batch normalization and rows of its dataset."""
    path = tmp_path_factory.mktemp("bundles") / "classifier.zip"
    return cnn_artifacts.bundle(path, data=wb.load_dataset("digits"))


@pytest.fixture(scope="session")
def regression_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two inputs, one of them ids; two losses; two batches a step; a drawn sample."""
    folder = tmp_path_factory.mktemp("regression")
    random = np.random.default_rng(0)
    readings = random.random((6, 3), np.float32)
    codes = random.integers(0, 5, (6, 2))
    targets = (random.random((6, 1), np.float32), random.random((6, 2), np.float32))
    model = wb.load_model(two_tables(), example_inputs=(readings, codes))
    artifacts = wb.generate_artifacts(
        model,
        loss=["mse", "l1"],
        data=wb.load_dataset((readings, codes), targets),
        gradient_accumulation=2,
        directory=folder / "artifacts",
    )
    return artifacts.bundle(folder / "regression.zip", rows=3)


@pytest.fixture(scope="session")
def token_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """int64 ids, Dropout, one target a place; SGD."""
    folder = tmp_path_factory.mktemp("tokens")
    tokens = np.random.default_rng(0).integers(0, 11, (4, 5))
    model = wb.load_model(token_model(), example_inputs=(tokens,))
    artifacts = wb.generate_artifacts(
        model,
        loss="cross_entropy",
        optimizer="sgd",
        target_shape=(5,),
        directory=folder / "artifacts",
    )
    return artifacts.bundle(folder / "tokens.zip")


@pytest.fixture
def unzip(request: pytest.FixtureRequest, tmp_path: Path) -> Unzip:
    """Unzips the bundle of this name into a new folder, as a person would."""

    def unzipped(name: str) -> Path:
        folder = tmp_path / name
        with zipfile.ZipFile(request.getfixturevalue(f"{name}_bundle")) as archive:
            archive.extractall(folder)
        return folder

    return unzipped
