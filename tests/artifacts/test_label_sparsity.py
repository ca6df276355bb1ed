"""Artifacts whose loss computes only what counts say so, and can be generated without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import workbench as wb
from workbench.artifacts import Artifacts
from workbench.artifacts.provenance import read_provenance
from workbench.engines.artifact_fit import refuse_other_settings
from workbench.errors import EngineError
from workbench.losses.loss import losses_from_json
from workbench.settings.config import make_config

NOTE = "computed only for the labels that are not ignored"


class Tagger(nn.Module):
    """The loss of the tags of words, given with the words."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(20, 8), nn.Linear(8, 50)

    def forward(self, words: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        logits = self.head(self.words(words))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tags.flatten())
        return loss.expand(words.shape[0])


def own_loss(output: torch.Tensor, _target: torch.Tensor) -> torch.Tensor:
    return output.mean()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Artifacts]:
    """With label sparsity, and without."""
    folder = tmp_path_factory.mktemp("sparse")
    words, none = np.zeros((4, 6), np.int64), np.zeros(4, np.float32)
    model = wb.load_model(Tagger(), example_inputs=(words, words), name="tagger")
    data = wb.load_dataset((words, words), none, test_fraction=0)
    settings: dict[str, Any] = {"loss": own_loss, "optimizer": "sgd", "data": data}
    return {
        sparse: wb.generate_artifacts(
            model, directory=folder / str(sparse), label_sparsity=sparse, **settings
        )
        for sparse in (True, False)
    }


def operators(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(path).graph.node}


def test_the_training_and_the_eval_model_select_what_counts(made: dict[bool, Artifacts]) -> None:
    for sparse, artifacts in made.items():
        assert artifacts.manifest["sparse_losses"] == int(sparse)
        assert artifacts.manifest["label_sparsity"] is sparse
        for path in (artifacts.training_model, artifacts.eval_model):
            assert ("NonZero" in operators(path)) is sparse
        notes = [rewrite["note"] for rewrite in artifacts.manifest["rewrites"]]
        assert notes.count(NOTE) == int(sparse)


def test_the_nodes_that_select_belong_to_the_loss(made: dict[bool, Artifacts]) -> None:
    artifacts = made[True]
    provenance = read_provenance(artifacts.directory)
    assert provenance is not None
    nodes = onnx.load(artifacts.training_model).graph.node
    places = [place for place, node in enumerate(nodes) if node.op_type == "NonZero"]
    (found,) = [provenance.training[place] for place in places]
    assert (found.made_by, found.note) == ("rewrite", NOTE)
    forward = onnx.load(artifacts.directory / "forward_model.onnx").graph.node
    assert [forward[place].op_type for place in found.origins] == ["LogSoftmax"]


def test_a_run_with_another_setting_is_refused(made: dict[bool, Artifacts]) -> None:
    losses = losses_from_json(made[True].manifest["loss"])
    config = make_config({"loss": losses, "optimizer": "sgd"})
    refuse_other_settings(made[True], config)
    with pytest.raises(EngineError, match="label_sparsity=False, but the run wants"):
        refuse_other_settings(made[False], config)
