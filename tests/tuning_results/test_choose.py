"""Use of a measurement by a run: stored, from a file, of another machine, or corrupt."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.data import Dataset
from workbench.doctor.kernels import tuning_finding
from workbench.engines.tuning_state import tuning_state
from workbench.errors import ConfigError
from workbench.load import load_model
from workbench.models import Model
from workbench.runs import prepare
from workbench.settings.config import TrainingConfig, read_config
from workbench.settings.engines import GraphKind
from workbench.settings.kernel_variants import VARIANTS, TunedKernels, different_variants
from workbench.tuning_results.record import Entry, Family, Measured, Refined, read_tuning
from workbench.tuning_results.shapes import shape_class
from workbench.tuning_results.storage import storage_path, store, write_tuning

MODEL = "digits-mlp"


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(MODEL)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where measurements are kept."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tuning"


def config_of(model: Model, digits: Dataset, **settings: Any) -> TrainingConfig:
    return prepare(model, digits, {"threads": 1, **settings})[2]


def entry_of(model: Model, digits: Dataset, engine: str, chosen: str, **settings: Any) -> Entry:
    config = config_of(model, digits, engine=engine, tuning="off", **settings)
    measured = [Measured(variant="default", step_ms=2.0, ratio=1.0, low=1.0, high=1.0)]
    if chosen != "default":
        measured.append(Measured(variant=chosen, step_ms=1.4, ratio=0.7, low=0.6, high=0.8))
    return Entry(
        engine=engine,
        model=model.name,
        shapes=shape_class(model, config),
        batch_size=config.batch_size,
        threads=config.threads,
        chosen=chosen,
        measured=tuple(measured),
        rounds=7,
        other_cores=0.0,
        time=1.0,
    )


def test_a_kept_choice_is_used_and_recorded(model: Model, digits: Dataset) -> None:
    store(entry_of(model, digits, "ortmodule", "no_linear"))
    config = config_of(model, digits, engine="ortmodule")
    assert config.ortmodule.pytorch_kernels == "no_linear"
    reason = VARIANTS[GraphKind.ORTMODULE]["no_linear"].description + ": 0.70 of the default's time"
    assert isinstance(config.tuning, TunedKernels)
    assert config.tuning.reason.startswith(reason)
    state = tuning_state(config)
    assert (state.state, state.reason) == ("on", config.tuning.reason)
    # What a resumed run, or another reader of the record, has.
    again = read_config(json.loads(json.dumps(config.model_dump(mode="json"))))
    assert again == config
    assert config_of(model, digits, **{**again.model_dump(), "loss": again.loss}) == config


def with_family(entry: Entry, family: str, library: str) -> Entry:
    """With a family that was faster by another library."""
    ratio = {"ratio": 0.9, "low": 0.8, "high": 0.95}
    chosen = Family(family=family, library=library, share=0.2, chosen=True, **ratio)
    refined = Refined(step_ms=1.8, rounds=11, **ratio)
    return entry.model_copy(update={"families": (chosen,), "refined": refined})


@pytest.mark.parametrize("chosen", ["default", "onnxruntime"])
def test_families_of_operators_come_on_top_of_the_variant(
    model: Model, digits: Dataset, chosen: str
) -> None:
    store(with_family(entry_of(model, digits, "ondevice", chosen), "relu", "onnxruntime"))
    config = config_of(model, digits)
    assert config.operator_kernels == ("relu=onnxruntime",)
    assert config.device_kernels == (chosen == "default")
    state = tuning_state(config)
    assert state.state == "on"
    assert state.reason.endswith(
        "; relu by ONNX Runtime: 0.90 of that (0.80 to 0.95); measured here"
    )
    assert "relu by ONNX Runtime" in tuning_finding().detail
    assert read_config(json.loads(json.dumps(config.model_dump(mode="json")))) == config
    store(with_family(entry_of(model, digits, "ortmodule", "no_linear"), "relu", "standard"))
    config = config_of(model, digits, engine="ortmodule")
    assert config.ortmodule.operator_kernels == ("relu=standard",)
    assert config.ortmodule.pytorch_kernels == "no_linear"
    assert config.operator_kernels == ()


def test_the_default_may_be_the_choice(model: Model, digits: Dataset) -> None:
    store(entry_of(model, digits, "ondevice", "default"))
    config = config_of(model, digits)
    assert config.device_kernels
    state = tuning_state(config)
    assert state.state == "off"
    assert "nothing else was clearly faster" in state.reason


def test_nothing_kept_changes_nothing(model: Model, digits: Dataset) -> None:
    config = config_of(model, digits)
    assert config.tuning == "kept"
    assert "run `workbench tune`" in tuning_state(config).reason


def test_off_uses_nothing(model: Model, digits: Dataset) -> None:
    store(entry_of(model, digits, "ondevice", "onnxruntime"))
    assert not config_of(model, digits).device_kernels
    off = config_of(model, digits, tuning="off")
    assert off.device_kernels
    assert (tuning_state(off).state, tuning_state(off).reason) == ("off", "")


@pytest.mark.parametrize(
    ("engine", "settings"),
    [
        ("ondevice", {"device_kernels": False}),
        ("ondevice", {"operator_kernels": ("gelu=standard",)}),
        ("ortmodule", {"ortmodule": {"operator_kernels": ("gelu=standard",)}}),
        ("ortmodule", {"ortmodule": {"pytorch_kernels": "off"}}),
        ("ortmodule", {"ortmodule": {"threads": 1}}),
    ],
)
def test_a_setting_of_the_users_own_stays(
    model: Model, digits: Dataset, engine: str, settings: dict[str, Any]
) -> None:
    chosen = "onnxruntime" if engine == "ondevice" else "no_linear"
    store(entry_of(model, digits, engine, chosen))
    config = config_of(model, digits, engine=engine, **settings)
    assert tuning_state(config).state == "off"
    assert tuning_state(config).reason.endswith("was given.")
    assert config.model_copy(update={"tuning": "off"}) == config_of(
        model, digits, engine=engine, tuning="off", **settings
    )


def test_other_shapes_are_not_meant(model: Model, digits: Dataset) -> None:
    store(entry_of(model, digits, "ondevice", "onnxruntime", batch_size=32))
    assert not config_of(model, digits, batch_size=63).device_kernels
    assert config_of(model, digits, batch_size=64).device_kernels
    assert config_of(load_model("digits-cnn"), digits, batch_size=32).device_kernels


Damage = Callable[[dict[str, Any]], Any]


def changed(**fields: Any) -> Damage:
    """An entry with other fields."""
    return lambda record: record["entries"][0].update(fields)


def place(**fields: Any) -> Damage:
    return lambda record: record["place"].update(fields)


DAMAGES: dict[str, tuple[Damage, str]] = {
    "another processor": (place(processor="Z80"), "it is for Z80, not "),
    "other cores": (place(cores=99), "it is for 99 cores, not "),
    "another version": (
        lambda record: record["place"]["versions"].update(torch="1.0"),
        "it is for torch 1.0, not ",
    ),
    "a version less": (
        lambda record: record["place"]["versions"].pop("torch"),
        "it is for torch none, not ",
    ),
    "an unknown choice": (changed(chosen="abacus"), "variant 'abacus' is none of default"),
    "an unknown engine": (changed(engine="steam"), "engine 'steam' is none of ondevice"),
    "a choice that was not measured": (changed(chosen="default_1"), "are not the chosen"),
    "text for a number": (changed(threads="1"), "entries.0.threads: must be an integer"),
    "a truth value for a number": (changed(rounds=True), "entries.0.rounds: must be an integer"),
    "settings of its own": (changed(settings={"threads": 9}), "entries.0.settings: "),
    "no measurement": (changed(measured=[]), "entries.0.measured: must have 1 entries or more"),
    "no entry": (lambda record: record.update(entries=[]), "entries: must have 1 entries"),
    "an unknown family": (
        changed(families=[{"family": "abacus", "library": "standard", "share": 0.1}]),
        "operator_kernels='abacus=standard'",
    ),
    "a library that lacks the family": (
        changed(families=[{"family": "softmax", "library": "standard", "share": 0.1}]),
        "softmax can be computed by workbench or onnxruntime",
    ),
    "families that were not measured together": (
        changed(families=[{"family": "gelu", "library": "standard", "share": 0.1, "chosen": True}]),
        "families were chosen without a measurement of all",
    ),
    "a newer format": (lambda record: record.update(format=2), "format: "),
    "another kind": (lambda record: record.update(kind="run"), "not written by `workbench tune`"),
}


@pytest.fixture
def path(model: Model, digits: Dataset, folder: Path) -> Path:
    """A kept file, which is also named below."""
    kept = store(entry_of(model, digits, "ondevice", "onnxruntime"))
    assert kept is not None
    assert kept.parent == folder
    return kept


def check_refused(path: Path, words: str, model: Model, digits: Dataset) -> None:
    """Kept, the file is not used, and that is said; named, it is refused."""
    config = config_of(model, digits)
    assert config.device_kernels
    assert isinstance(config.tuning, TunedKernels)
    assert config.tuning.variant is None
    assert words in config.tuning.reason
    assert "`workbench tune`" in config.tuning.reason
    found = tuning_finding()
    assert (found.state, words in found.detail) == ("note", True), found.detail
    with pytest.raises(ConfigError) as refused:
        config_of(model, digits, tuning=str(path))
    assert words in str(refused.value)
    assert path.name in str(refused.value)


@pytest.mark.fault
@pytest.mark.parametrize("name", DAMAGES)
def test_measurements_that_do_not_fit_are_not_used(
    name: str, path: Path, model: Model, digits: Dataset
) -> None:
    damage, words = DAMAGES[name]
    record = json.loads(path.read_text(encoding="utf-8"))
    damage(record)
    path.write_text(json.dumps(record), encoding="utf-8")
    check_refused(path, words, model, digits)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "truncated or not JSON"),
        (b"\x80\x04", "truncated or not JSON"),
        (b"[" * 100_000, "truncated or not JSON"),
        (b"[1]", "not written by `workbench tune`"),
        (b" " * 2**21, "it has more than 1,048,576 bytes"),
    ],
)
def test_other_files_are_not_used(
    content: bytes, words: str, path: Path, model: Model, digits: Dataset
) -> None:
    path.write_bytes(content)
    check_refused(path, words, model, digits)


@pytest.mark.fault
def test_half_a_file_is_not_used(path: Path, model: Model, digits: Dataset) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    check_refused(path, "truncated or not JSON", model, digits)


@pytest.mark.fault
def test_a_pipe_is_not_opened(path: Path, model: Model, digits: Dataset) -> None:
    path.unlink()
    os.mkfifo(path)
    check_refused(path, "it is a pipe", model, digits)


@pytest.mark.fault
def test_a_file_under_a_wrong_name_is_not_used(path: Path, model: Model, digits: Dataset) -> None:
    other = config_of(model, digits, batch_size=999, tuning="off")
    elsewhere = storage_path("ondevice", shape_class(model, other), 1)
    assert elsewhere is not None
    path.rename(elsewhere)
    found = config_of(model, digits, batch_size=999)
    assert found.device_kernels
    assert isinstance(found.tuning, TunedKernels)
    assert "it is for other shapes" in found.tuning.reason


@pytest.mark.fault
def test_a_named_file_that_is_not_of_the_run_is_refused(
    path: Path, model: Model, digits: Dataset, tmp_path: Path
) -> None:
    named = tmp_path / "tuned.json"
    write_tuning(read_tuning(path), named)
    assert not config_of(model, digits, tuning=str(named)).device_kernels
    # An engine that has no variants takes no notice.
    assert config_of(model, digits, engine="pytorch", tuning=str(named)).engine == "pytorch"
    for settings, words in (
        ({"engine": "ortmodule"}, "it is for nothing on ortmodule, not digits-mlp"),
        ({"batch_size": 999}, "in batches of 999"),
        ({"requires_grad": ("*bias",)}, "in batches of 32 with other trained parameters"),
        ({"tuning": str(tmp_path / "none.json")}, "there is no such file"),
        ({"tuning": str(tmp_path)}, "it cannot be read: Is a directory"),
        ({"tuning": ""}, "tuning='': give kept, off, or the path of a file"),
        ({"tuning": 3}, "tuning"),
    ):
        with pytest.raises(ConfigError, match=words):
            config_of(model, digits, **{"tuning": str(named), **settings})


def test_every_variant_changes_known_settings() -> None:
    for engine, graphs in (("ortmodule", GraphKind.ORTMODULE), ("ondevice", GraphKind.DEVICE)):
        names = list(different_variants(engine, 2, frozenset({"torch_interop", "device_kernels"})))
        assert names == list(VARIANTS[graphs])
        assert names[0] == "default"
        for variant in VARIANTS[graphs].values():
            config = TrainingConfig.model_validate(
                {"engine": engine, "threads": 1, **variant.settings(graphs, 1)}
            )
            assert config.engine == engine
        assert not VARIANTS[graphs]["default"].settings(graphs, 2)
    # On one thread, and without an extension, some are the same as others.
    assert list(different_variants("ortmodule", 1, frozenset())) == ["default", "onnxruntime"]
    assert list(different_variants("ondevice", 1, frozenset())) == ["default"]
