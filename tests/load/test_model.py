"""The sources of a model that build an nn.Module, and what is refused of them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import nn

from workbench.errors import ModelError
from workbench.load import load_model
from workbench.models import Layer, TensorSpec, load_saved


class Pair(nn.Module):
    """Two inputs, three outputs, a buffer, a frozen and a shared parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 4)
        self.mix = nn.Linear(4, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.table.weight
        self.norm = nn.BatchNorm1d(4)
        self.mix.bias.requires_grad_(False)
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, ids: torch.Tensor, extra: torch.Tensor) -> dict[str, torch.Tensor]:
        x = self.norm(self.mix(self.table(ids)) + extra * self.scale)
        return {"logits": self.head(x), "hidden": (x, ids)}


PAIR_INPUTS = (np.array([1, 2, 3]), torch.ones(3, 4, dtype=torch.float64))


# Samples


def test_a_folder_is_said_to_be_one(tmp_path: Path) -> None:
    for source in (str(tmp_path), f"{tmp_path}/", "./"):
        with pytest.raises(ModelError, match="is a folder: give the path of an"):
            load_model(source)


@pytest.mark.fault
def test_an_unknown_sample_gets_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"No model 'digits-cn'.*'digits-cnn'"):
        load_model("digits-cn")
    with pytest.raises(ModelError, match=r"missing\.onnx does not exist"):
        load_model("missing.onnx")
    with pytest.raises(ModelError, match=r"example_inputs can only be used with an nn\.Module"):
        load_model("digits-cnn", example_inputs=np.zeros(3))
    with pytest.raises(ModelError, match="Cannot load a model from int"):
        load_model(3)  # type: ignore[arg-type]


def test_a_sample_knows_itself_and_can_be_renamed() -> None:
    model = load_model("digits-cnn", name="mine")
    assert model.name == "mine"
    assert model.dataset == "digits"
    assert model.defaults["loss"] == "cross_entropy"
    assert model.has_module
    assert model.module().training
    assert repr(model) == "Model('mine', sample, inputs: image ['batch', 1, 8, 8])"


def test_layers_of_a_sample() -> None:
    model = load_model("digits-cnn")
    layers = model.layers()
    assert layers[0] == Layer("conv1", "Conv2d", ("batch", 16, 8, 8), 144, 576, 9216)
    assert layers[-1] == Layer("output", "Linear", ("batch", 10), 1290, 5160, 1280)
    assert sum(layer.parameters for layer in layers) == model.parameter_count
    assert sum(layer.bytes for layer in layers) == model.parameter_bytes


# Modules


def test_a_module_with_several_inputs_and_outputs() -> None:
    model = load_model(Pair(), example_inputs=PAIR_INPUTS)
    assert model.name == "Pair"
    assert model.inputs == (
        TensorSpec("ids", ("batch",), "int64"),
        TensorSpec("extra", ("batch", 4), "float32"),
    )
    assert model.outputs == (
        TensorSpec("logits", ("batch", 5), "float32"),
        TensorSpec("hidden_0", ("batch", 4), "float32"),
        TensorSpec("hidden_1", ("batch",), "int64"),
    )
    assert list(model.parameters) == ["scale", "table.weight", "mix.weight", *_NORM]
    assert model.parameter_count == 4 + 20 + 16 + 4 + 8
    assert set(model.weights()) == {
        *model.parameters,
        "mix.bias",
        "head.weight",
        "norm.running_mean",
        "norm.running_var",
        "norm.num_batches_tracked",
    }


_NORM = ["norm.weight", "norm.bias"]


def test_layers_of_a_module() -> None:
    layers = load_model(Pair(), example_inputs=PAIR_INPUTS).layers()
    assert [(layer.name, layer.kind, layer.parameters) for layer in layers] == [
        ("table", "Embedding", 20),
        ("mix", "Linear", 20),
        ("norm", "BatchNorm1d", 8),
        ("head", "Linear", 0),
        ("(root)", "Pair", 4),
    ]
    assert layers[3].output_shape == ("batch", 5)


def test_a_layer_that_never_runs_and_one_without_a_batch() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
            self.places = nn.Embedding(3, 4)
            self.idle = nn.Dropout()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x + self.places(torch.arange(3))
            mixed: torch.Tensor = self.attention(x, x, x, need_weights=False)[0]
            return mixed

    layers = {
        layer.name: layer
        for layer in load_model(Odd(), example_inputs=np.zeros((2, 3, 4))).layers()
    }
    assert list(layers) == ["places", "attention", "attention.out_proj"]
    assert layers["places"].output_shape == (3, 4)
    attention = Layer("attention", "MultiheadAttention", ("batch", 3, 4), 60, 240, 264)
    assert layers["attention"] == attention
    assert layers["attention.out_proj"].output_shape is None


def test_a_snapshot_is_kept() -> None:
    module = nn.Linear(4, 3)
    model = load_model(module, example_inputs=np.zeros((2, 4)))
    before = model.weights()
    with torch.no_grad():
        module.weight.zero_()
        model.module().weight.zero_()
    assert np.array_equal(model.weights()["weight"], before["weight"])
    assert before["weight"].any()
    assert module.training


def test_a_batch_of_one_is_repeated() -> None:
    model = load_model(nn.Linear(4, 3), example_inputs=torch.ones(1, 4))
    assert model.example_inputs()[0].shape == (2, 4)
    assert model.outputs[0].shape == ("batch", 3)


def test_names_never_clash_with_parameters() -> None:
    class Clash(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.input = nn.Parameter(torch.ones(4))
            self.output = nn.Parameter(torch.ones(4))

        def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002
            return input * self.input + self.output

    model = load_model(Clash(), example_inputs=np.zeros((2, 4)))
    assert (model.inputs[0].name, model.outputs[0].name) == ("input_", "output_")


class Loss(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean()


class Silent(nn.Module):
    def forward(self, x: torch.Tensor) -> str:
        return "done"


@pytest.mark.fault
class Wordy(nn.Module):
    """Raises an exception with a long message."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError(f"the beginning {'no ' * 5000} the end")


def test_a_long_message_of_a_module_is_shortened_in_the_middle() -> None:
    with pytest.raises(ModelError, match=r"ValueError: the beginning .*\.\.\..* the end") as caught:
        load_model(Wordy(), example_inputs=np.zeros((2, 4)))
    assert len(str(caught.value)) < 1500


@pytest.mark.parametrize(
    ("module", "examples", "message"),
    [
        (nn.Linear(4, 3), None, "needs example_inputs="),
        (nn.Linear(4, 3), (), "example_inputs is empty"),
        (nn.Linear(4, 3), np.zeros((2, 5)), r"Linear fails on inputs of shape \(2, 5\)"),
        (nn.Linear(4, 3), (np.zeros((2, 4)), np.zeros((3, 4))), "must be the same batch"),
        (nn.Linear(4, 3), np.float32(1), "must be the same batch"),
        (nn.Linear(4, 3), np.zeros((0, 4)), r"\(0, 4\); .* of one row at least"),
        (nn.Linear(4, 3), np.array(["a", "b"]), "Example input 0 has dtype"),
        (nn.Linear(4, 3), nn.Linear(4, 3), "Example input 0 is of type Linear; pass an array"),
        (nn.Linear(4, 3).double(), np.zeros((2, 4)), "'weight' is float64.*module.float"),
        (nn.LazyLinear(3), np.zeros((2, 4)), "'weight' is not initialized"),
        (Loss(), np.zeros((2, 4)), r"first output of Loss has shape \[\].*not a loss"),
        (Silent(), np.zeros((2, 4)), "returns str, which contains no tensor"),
    ],
)
def test_modules_that_cannot_be_used(module: nn.Module, examples, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_model(module, example_inputs=examples)


# Export


@pytest.mark.parametrize("name", ["digits-mlp", "digits-cnn"])
def test_a_sample_is_exported_with_other_weights(name: str, tmp_path: Path) -> None:
    import onnxruntime

    model = load_model(name)
    other = load_model(name, seed=5).weights()
    weights = {key: np.asarray(value * 2) for key, value in other.items()}
    path = model.export(tmp_path / "model.onnx", weights)
    inputs = np.random.default_rng(0).random((3, 1, 8, 8), np.float32)
    feed = {model.inputs[0].name: inputs}
    (output,) = onnxruntime.InferenceSession(path).run([model.outputs[0].name], feed)
    module = model.module().eval()
    module.load_state_dict({key: torch.from_numpy(value) for key, value in weights.items()})
    with torch.no_grad():
        expected = module(torch.from_numpy(inputs)).numpy()
    difference = np.abs(output - expected).max()
    assert difference < 1e-4, f"largest difference {difference:.2e}"


def test_the_seed_is_saved(tmp_path: Path) -> None:
    model = load_model("digits-mlp", seed=4)
    model.save(tmp_path / "model")
    assert np.array_equal(
        load_saved(tmp_path / "model").weights()["output.bias"], model.weights()["output.bias"]
    )


@pytest.mark.parametrize("name", ["torch", "torch.nn"])
def test_torch_may_be_loading_in_another_thread(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a page loads its model while a cell calls load_model."""
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert load_model("digits-mlp").name == "digits-mlp"
