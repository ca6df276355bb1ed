"""Artifacts whose loss computes only what counts say so, and can be generated without."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper
from torch import nn

import workbench as wb
from workbench.artifacts import Artifacts
from workbench.artifacts.generation.provenance import read_provenance
from workbench.engines.ondevice.artifact_fit import refuse_other_settings
from workbench.errors import EngineError
from workbench.losses.loss_list import losses_from_json
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


def linear() -> onnx.ModelProto:
    """The scores of 50 tags for each of six places."""
    values = [("x", ["batch", 6, 8]), ("y", ["batch", 6, 50])]
    given, made = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in values
    )
    weight = numpy_helper.from_array(np.ones((8, 50), np.float32), "weight")
    node = helper.make_node("MatMul", ["x", "weight"], ["y"])
    graph = helper.make_graph([node], "linear", [given], [made], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Artifacts]:
    """With label sparsity, of a module with its loss, and without, of a graph."""
    folder = tmp_path_factory.mktemp("sparse")
    words, none = np.zeros((4, 6), np.int64), np.zeros(4, np.float32)
    model = wb.load_model(Tagger(), example_inputs=(words, words), name="tagger")
    data = wb.load_dataset((words, words), none, test_fraction=0)
    onnx.save(linear(), folder / "linear.onnx")
    return {
        True: wb.generate_artifacts(
            model, loss=own_loss, optimizer="sgd", data=data, directory=folder / "sparse"
        ),
        False: wb.generate_artifacts(
            folder / "linear.onnx",
            loss="cross_entropy",
            optimizer="sgd",
            label_sparsity=False,
            directory=folder / "full",
        ),
    }


def operators(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(path).graph.node}


def test_the_training_and_the_eval_model_select_counted_labels(made: dict[bool, Artifacts]) -> None:
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
    full = config.model_copy(update={"label_sparsity": False})
    with pytest.raises(EngineError, match=r"=True, but the run has label_sparsity=False"):
        refuse_other_settings(made[True], full)
