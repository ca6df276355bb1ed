"""Drawings of three new symbols and a known one: base and trained model, export, recognition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from safetensors.numpy import save_file

from sample_models.sketch_cnn.symbols import SYMBOLS, drawn
from tests.personalisation.recorded import Drawing, drawings, drawn_examples
from tests.plain_onnxruntime.environment import plain_onnxruntime
from workbench.errors import ConfigError, DataError, EngineError
from workbench.load import load_model
from workbench.personalisation import Examples, Personalisation, personalise, prepare


@pytest.fixture(scope="module")
def examples() -> Examples:
    """Five drawings each by one hand, and five circles: a symbol that the base knows."""
    found, _ = drawn_examples(hand=0)
    random = np.random.default_rng(5)
    for _ in range(5):
        found.add([stroke.tolist() for stroke in drawn(SYMBOLS["circle"], random)], "circle")
    return found


@pytest.fixture(scope="module")
def personal(
    examples: Examples, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Personalisation]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("WORKBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        assert prepare("image", threads=1)
        made = personalise(examples, threads=1)
        assert made.after is None
        yield made.wait(300)
        made.close()


def held_out_images(personal: Personalisation, examples: Examples) -> np.ndarray:
    values = [np.asarray(examples[number].value) for number in personal.held_out]
    return np.stack(values)[:, np.newaxis].astype(np.float32) / 255


def new_drawings(hand: int) -> list[Drawing]:
    """None of them was trained with."""
    return drawn_examples(0)[1] if hand == 0 else drawings(hand)


def test_two_of_five_are_held_out(personal: Personalisation, examples: Examples) -> None:
    assert personal.labels == ("umbrella", "key", "cup", "circle")
    labels = [examples[number].label for number in personal.held_out]
    assert {label: labels.count(label) for label in personal.labels} == dict.fromkeys(
        personal.labels, 2
    )
    assert personal.run.spec["samples"] == 480


def test_prepared_artifacts_are_taken_from_the_cache(personal: Personalisation) -> None:
    statistics = personal.run.statistics
    assert statistics is not None
    assert statistics.graphs[0].cache_s is not None
    assert not prepare("image", lora={"rank": 4})
    assert not prepare("image", base="a-run")
    assert not prepare("text", engine="pytorch")


def test_the_result_before_training_is_that_of_the_base_checkpoint(
    personal: Personalisation, examples: Examples
) -> None:
    """By PyTorch, from the sample's module and its base checkpoint."""
    import torch

    before = personal.before
    assert before is not None
    module = load_model("sketch-cnn", weights="base").module().eval()
    with torch.no_grad():
        logits = module(torch.from_numpy(held_out_images(personal, examples)))[:, : len(SYMBOLS)]
    expected = logits.softmax(dim=1).numpy()
    found = [before.predictions[number] for number in personal.held_out]
    probabilities = np.array([[each.probabilities[name] for name in SYMBOLS] for each in found])
    worst = float(np.abs(probabilities - expected).max())
    assert worst < 1e-5, f"the base's probabilities differ by {worst:.1e}"
    # It knows circles alone.
    assert before.accuracy == 0.25
    assert before.predicted_classes == tuple(SYMBOLS)
    assert before.confusion is not None
    assert before.confusion.shape == (4, 24)
    assert before.confusion.sum() == 8


def test_after_knows_the_new_symbols(personal: Personalisation) -> None:
    after = personal.after
    assert after is not None
    assert after.accuracy is not None
    assert after.accuracy >= 7 / 8, f"{after.accuracy:.2f} of the held-out drawings"
    assert after.confusion is not None
    assert after.predicted_classes == after.classes == personal.labels
    assert np.trace(after.confusion) / after.confusion.sum() == after.accuracy
    assert json.dumps(after.record())
    assert personal.status == "completed"
    assert personal.seconds is not None


@pytest.mark.parametrize("hand", [0, 1, 2])
def test_new_drawings_of_every_hand_are_recognised(personal: Personalisation, hand: int) -> None:
    new = new_drawings(hand)
    hits = sum(personal.recognise(each.strokes).label == each.symbol for each in new)
    assert hits >= 0.85 * len(new), f"{hits} of {len(new)}"


def test_the_exported_model_recognises_a_drawing_in_plain_onnxruntime(
    personal: Personalisation, tmp_path: Path
) -> None:
    path = personal.export(tmp_path / "mine.onnx")
    metadata = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    classes = json.loads(metadata["classes"])
    assert classes[0] == "circle"
    assert classes[24:27] == ["umbrella", "key", "cup"]
    assert sum(name is not None for name in classes) == 4
    drawing = new_drawings(2)[0]
    image = Examples.rasterise(drawing.strokes)[np.newaxis, np.newaxis]
    logits = plain_onnxruntime().run(path, {"image": image}, tmp_path)["logits"][0]
    prediction = personal.recognise(drawing.strokes)
    assert classes[logits.argmax()] == prediction.label == drawing.symbol
    probabilities = np.exp(logits - logits.max(), dtype=np.float64)
    worst = abs(float(probabilities.max() / probabilities.sum()) - prediction.probability)
    # A drawing is kept in 256 greys.
    assert worst < 1e-2, f"the probability differs by {worst:.1e}"


def test_only_the_head_was_trained(personal: Personalisation) -> None:
    base, found = load_model("sketch-cnn", weights="base").weights(), personal.run.weights()
    changed = {name for name, value in base.items() if not np.array_equal(found[name], value)}
    assert changed == {"output.weight", "output.bias"}


@pytest.mark.sweep
@pytest.mark.parametrize(
    "settings",
    [
        {"engine": "pytorch", "train": "all", "learning_rate": 1e-3},
        {"lora": {"rank": 4, "targets": ("hidden*", "output*")}},
    ],
    ids=["all", "lora"],
)
def test_other_parameters_are_trained_on_request(
    examples: Examples, settings: dict[str, object], tmp_path: Path
) -> None:
    made = personalise(examples, steps=100, **settings).wait(300)  # type: ignore[arg-type]
    assert made.after is not None
    assert made.after.accuracy == 1
    assert made.export(tmp_path / "mine.onnx").stat().st_size > 1000
    made.close()


@pytest.mark.sweep
def test_other_weights_are_begun_and_compared_with(examples: Examples, tmp_path: Path) -> None:
    """With a head of zeros every class is as probable as another, before a single step."""
    weights = load_model("sketch-cnn", weights="base").weights()
    head = {name for name in weights if name.startswith("output")}
    assert head
    path = tmp_path / "headless.safetensors"
    save_file({n: each * (n not in head) for n, each in weights.items()}, path)
    made = personalise(examples, threads=1, steps=1, base=path)
    try:
        before = made.wait(300).before
        assert before is not None
        for each in before.predictions.values():
            assert each.probability == pytest.approx(1 / len(before.predicted_classes))
        assert made.run.spec["base"]["file"] == str(path)
    finally:
        made.close()


@pytest.mark.fault
def test_unsuitable_models_and_examples_are_refused(examples: Examples, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two labels or more; there are 0"):
        personalise(Examples("image"))
    few = Examples("image")
    few.add([[(0, 0), (1, 1)]], "a")
    few.add([[(0, 0), (1, 1)]], "b")
    with pytest.raises(DataError, match="Label 'a' has one example"):
        personalise(few)
    many = Examples("image")
    for number in range(17):
        for _ in range(2):
            many.add([[(0, 0), (1, number)]], f"label {number}")
    with pytest.raises(DataError, match=r"17 classes .* room for 16"):
        personalise(many)
    with pytest.raises(DataError, match="give an Examples"):
        personalise([])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="held_out=1"):
        personalise(examples, held_out=1)
    with pytest.raises(ConfigError, match=r"model='text-gpt' .* 'image'. Known: sketch-cnn"):
        personalise(examples, "text-gpt")
    with pytest.raises(ConfigError, match="give 'head' or 'all'"):
        personalise(examples, train="tail")  # type: ignore[arg-type]
    options: tuple[dict[str, Any], ...] = (
        *({"seed": -1}, {"seed": "x"}, {"seed": 2**32}),
        *({"prompt": 5}, {"augment": "x"}),
    )
    for option in options:
        [name] = option
        with pytest.raises(ConfigError, match=f"{name}="):
            personalise(examples, **option)
    with pytest.raises((ConfigError, EngineError), match="ondevise"):
        personalise(examples, engine="ondevise")


@pytest.mark.fault
def test_a_wrong_question_is_refused(personal: Personalisation, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at least one point"):
        personal.recognise([])
    with pytest.raises(DataError, match="Only a text model"):
        personal.continue_text("def ")
    with pytest.raises(Exception, match="is a folder"):
        personal.export(tmp_path)
