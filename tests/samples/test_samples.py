"""The samples: listed for nothing, built the same everywhere, and trained to what they promise."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from sample_models import DATASETS, SAMPLES
from sample_models.text_bert import IGNORED, MASK
from sample_models.text_gpt import CHARACTERS, CONTEXT, decode, encode
from tests.fork_server import forked
from workbench.data import check_fit
from workbench.engines.torch_base.torch_losses import all_outputs, loss_function
from workbench.load import load_dataset, load_model
from workbench.settings.config import make_config

NAMES = sorted(SAMPLES)


def trained(name: str, steps: int | None = None) -> tuple[torch.nn.Module, list[float]]:
    """The sample after plain PyTorch training with its defaults, and the loss of every step."""
    model, data = load_model(name), load_dataset(name)
    config = make_config(model.defaults)
    module, loss_of = model.module(), loss_function(config.loss)
    optimizer = torch.optim.AdamW(module.parameters(), lr=config.learning_rate, fused=True)
    losses: list[float] = []
    for epoch in range(1, config.epochs + 1):
        for batch in data.train.batches(config.batch_size, config.seed, epoch):
            if len(losses) == steps:
                return module, losses
            output = all_outputs(module(*map(torch.from_numpy, batch.inputs)))[0]
            loss = loss_of(output, torch.from_numpy(batch.target))
            torch.autograd.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return module, losses


def on_test_split(name: str, module: torch.nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and target on the whole test split, in evaluation mode."""
    test = load_dataset(name).test
    assert test is not None
    with torch.no_grad():
        output = module.eval()(torch.from_numpy(test.inputs[0]))
    return output, torch.from_numpy(test.target)


def said_by(command: list[str | os.PathLike[str]]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def digest(weights: dict[str, np.ndarray]) -> str:
    content = hashlib.sha256()
    for name in sorted(weights):
        content.update(name.encode() + weights[name].tobytes())
    return content.hexdigest()


def test_the_samples_are_there() -> None:
    assert list(SAMPLES) == [
        "digits-mlp",
        "digits-cnn",
        "breast-cancer-mlp",
        "digits-autoencoder",
        "sketch-cnn",
        "speech-commands",
        "text-gpt",
        "text-bert",
        "text-bert-512",
        "hf-classifier",
    ]
    assert set(DATASETS) == {
        "digits",
        "breast-cancer",
        "digits-pixels",
        "sketches",
        "spoken-words",
        "python-topics",
        "python-topics-masked-128",
        "python-topics-masked-512",
        "python-sources",
    }


def test_listing_them_loads_neither_torch_nor_scikit_learn() -> None:
    code = """
import sys
from sample_models import SAMPLES
from workbench.load import load_model
for name in SAMPLES:
    model = load_model(name)
    model.card, model.inputs, model.outputs, model.defaults, repr(model)
heavy = ("torch", "sklearn", "onnx", "onnxruntime", "transformers")
print([name for name in heavy if name in sys.modules])
"""
    assert said_by([sys.executable, "-c", code]) == "[]"


@pytest.mark.sweep
def test_two_processes_build_the_same_weights() -> None:
    code = f"""
import hashlib
from workbench.load import load_model
for name in {NAMES}:
    weights = load_model(name, seed=3).weights()
    content = hashlib.sha256()
    for key in sorted(weights):
        content.update(key.encode() + weights[key].tobytes())
    print(content.hexdigest())
"""
    here = [digest(load_model(name, seed=3).weights()) for name in NAMES]
    assert said_by(forked("-c", code)).split() == here
    assert digest(load_model(NAMES[0], seed=4).weights()) != here[0]


def test_building_leaves_the_callers_random_numbers_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    load_model("digits-mlp", seed=8).module()
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.sweep) if name == "hf-classifier" else name
        for name in NAMES
    ],
)
def test_the_stated_shapes_are_those_of_the_module(name: str) -> None:
    model, data = load_model(name), load_dataset(name)
    config = make_config(model.defaults)
    check_fit(model, data, config.loss)
    assert model.dataset == data.name
    assert config.epochs * (len(data.train) // config.batch_size) > 100
    for size in (2, 3):
        inputs = [torch.from_numpy(array[:size]) for array in data.train.inputs]
        outputs = [all_outputs(model.module()(*inputs))[0]]
        for spec, tensors in ((model.inputs, inputs), (model.outputs, outputs)):
            (one,), (tensor,) = spec, tensors
            assert one.shape == ("batch", *tensor.shape[1:])
            assert one.dtype == str(tensor.dtype).removeprefix("torch.")
            assert tensor.shape[0] == size


@pytest.mark.parametrize("name", NAMES)
def test_the_card_is_one_paragraph_and_true_to_the_model(name: str) -> None:
    model = load_model(name)
    assert "\n" not in model.card
    assert "test" in model.card
    assert f"{model.parameter_count:,} parameters" in model.card


@pytest.mark.parametrize(("name", "accuracy"), [("digits-mlp", 0.95), ("digits-cnn", 0.97)])
def test_digits_are_read(name: str, accuracy: float) -> None:
    output, target = on_test_split(name, trained(name)[0])
    reached = (output.argmax(dim=1) == target).double().mean().item()
    assert reached > accuracy, f"{name} reached {reached:.3f} test accuracy"


def test_tumours_are_classified() -> None:
    output, target = on_test_split("breast-cancer-mlp", trained("breast-cancer-mlp")[0])
    reached = ((output > 0) == (target > 0.5)).double().mean().item()
    assert reached > 0.95, f"breast-cancer-mlp reached {reached:.3f} test accuracy"


def test_digits_are_drawn_again() -> None:
    output, target = on_test_split("digits-autoencoder", trained("digits-autoencoder")[0])
    error = torch.nn.functional.mse_loss(output, target).item()
    assert error < 0.012, f"digits-autoencoder reached a test error of {error:.4f}"


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["sketch-cnn", "speech-commands"])
def test_sketches_and_words_are_recognised(name: str) -> None:
    output, target = on_test_split(name, trained(name)[0])
    reached = (output.argmax(dim=1) == target).double().mean().item()
    assert reached > 0.5, f"{name} reached {reached:.3f} test accuracy; guessing reaches 0.05"


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "accuracy"), [("sketch-cnn", 0.95), ("speech-commands", 0.87), ("text-gpt", 0.57)]
)
def test_base_checkpoints_reach_the_metrics_of_their_cards(name: str, accuracy: float) -> None:
    output, target = on_test_split(name, load_model(name, weights="base").module())
    reached = (output.argmax(dim=-1) == target).double().mean().item()
    assert reached > accuracy, f"the base checkpoint of {name} reached {reached:.3f}"
    assert f"{reached:.0%}".replace("%", " %") in SAMPLES[name].card


@pytest.mark.sweep
def test_the_transformer_learns_and_looks_at_no_later_character() -> None:
    module, losses = trained("text-gpt", steps=60)
    assert losses[0] > 4.4, f"the first loss is {losses[0]:.2f}, below that of guessing evenly"
    assert np.mean(losses[-20:]) < 3.2, f"the last losses are {losses[-20:]}"
    characters = torch.from_numpy(encode("The import statement".ljust(CONTEXT))[np.newaxis])
    other = characters.clone()
    other[0, 20:] = 5
    with torch.no_grad():
        difference = (module(characters) - module(other))[0, :20].abs().max().item()
        shorter = module(characters)[0, :20] - module(characters[:, :20])[0]
    assert difference == 0, f"later characters change earlier predictions by {difference:.2e}"
    assert shorter.abs().max().item() < 1e-4, f"largest difference {shorter.abs().max():.2e}"


def test_text_survives_encoding() -> None:
    assert decode(encode("def f():\n    return 1")) == "def f():\n    return 1"
    assert decode(encode("caf\u00e9\t")) == "caf??"
    assert encode(CHARACTERS).tolist() == list(range(96))


def test_test_topics_are_not_trained_on() -> None:
    data = load_dataset("python-topics")
    assert data.test is not None
    windows = {row.tobytes() for row in data.train.inputs[0]}
    shared = sum(row.tobytes() in windows for row in data.test.inputs[0])
    # Help texts repeat some phrases; whole windows of 64 characters hardly ever.
    assert shared < 0.01 * len(data.test), f"{shared} of {len(data.test)} windows"
    for inputs, target in zip(data.train.inputs[0][:50], data.train.target[:50], strict=True):
        assert np.array_equal(inputs[1:], target[:-1])


def test_the_split_of_a_sample_follows_fraction_and_seed() -> None:
    whole = load_dataset("breast-cancer", test_fraction=0)
    assert whole.test is None
    assert len(whole.train) == 569
    assert np.abs(whole.train.inputs[0].mean(axis=0)).max() < 1e-5
    one, other = load_dataset("digits", seed=1), load_dataset("digits", seed=2)
    assert len(one.train) == len(other.train) == 1438
    assert not np.array_equal(one.train.target, other.train.target)
    assert load_dataset("digits-pixels", test_fraction=0).test is None


@pytest.mark.parametrize("length", [128, 512])
def test_characters_are_hidden_as_berts_are(length: int) -> None:
    data = load_dataset(f"python-topics-masked-{length}")
    (inputs,), target = data.train.inputs, data.train.target
    assert inputs.shape[1:] == target.shape[1:] == (length,)
    hidden = target != IGNORED
    assert hidden.mean() == pytest.approx(0.15, abs=0.005)
    masked = inputs == MASK
    assert (hidden | ~masked).all(), "what is masked is asked for"
    assert masked[hidden].mean() == pytest.approx(0.8, abs=0.01)
    assert (inputs == target)[hidden].mean() == pytest.approx(0.1, abs=0.01)
    assert target[hidden].min() >= 0
    assert target.max() < MASK


def test_both_phases_of_the_bert_share_their_weights() -> None:
    short, long = load_model("text-bert", seed=3), load_model("text-bert-512", seed=3)
    assert digest(short.weights()) == digest(long.weights())


@pytest.mark.sweep
def test_the_bert_looks_at_both_sides_and_learns() -> None:
    module, losses = trained("text-bert", steps=40)
    assert losses[0] > 4.4, f"the first loss is {losses[0]:.2f}, below that of guessing evenly"
    assert np.mean(losses[-10:]) < 3.4, f"the last losses are {losses[-10:]}"
    characters = torch.from_numpy(encode("The import statement".ljust(128))[np.newaxis])
    other = characters.clone()
    other[0, 60] = 5
    with torch.no_grad():
        moved = (module.eval()(characters) - module(other))[0].abs().amax(dim=1)
    assert (moved[[0, 59, 61, 127]] > 0).all()


@pytest.mark.sweep
def test_code_comments_and_docstrings_are_classified() -> None:
    data = load_dataset("python-sources")
    assert data.test is not None
    assert np.bincount(data.train.target).min() > 300
    losses = trained("hf-classifier", steps=100)[1]
    assert np.mean(losses[-20:]) < 0.95, f"the last losses are {losses[-20:]}; guessing is 1.10"
