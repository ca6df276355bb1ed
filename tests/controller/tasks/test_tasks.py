"""Tasks of a page beside training: started, shown, cancelled; their code does the same."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from tests.controller.recording_view import RecordingView, until
from tests.controller.task_states import choose, done
from workbench.artifacts import Artifacts
from workbench.controller import Controller, Setup
from workbench.controller.code.page_code import code_for
from workbench.controller.tasks import (
    TASKS,
    federated_app,
    nominal_checkpoint,
    tuning,
    verification,
)
from workbench.controller.tasks.largest_batch import LargestBatchTask
from workbench.controller.tasks.task import (
    NO_ARTIFACTS,
    Task,
    TaskResult,
)
from workbench.controller.view import View
from workbench.data import Dataset
from workbench.doctor.diagnosis import Diagnosis, Finding
from workbench.tune import Tuning
from workbench.tuning_results.record import Entry, Environment, Measured, TuningRecord
from workbench.verification.result import EngineVerdict, GradientRow, Verification

TYPED = {
    **{"batch_size": "4", "epochs": "3", "learning_rate": "0.01", "requires_grad": "*weight"},
    **{"seed": "7", "device_kernels": "no"},
}
"""Some of which each task takes."""


class NotedError(Exception):
    """The function was called; no more is wanted of it."""


@pytest.fixture
def page() -> Iterator[Controller]:
    found = Controller(RecordingView(), Setup(engines=["ondevice"]))
    yield found
    found.close()


def given_by_page(page: Controller, name: str, calls: list[Any]) -> Any:
    page.tasks.start(name)
    state = done(page, name)
    assert len(calls) == 1, state.problem
    return calls.pop()


def given_by_code(page: Controller, name: str, calls: list[Any], **names: Any) -> Any:
    """Calls made by the code of a task, without those of the rest of its step."""
    [task] = [each for each in TASKS if each.name == name]
    given = ["model", "data"] if page.setup.dataset else ["model"]
    lines = task.code(page.setup, page.setup.tasks[name], given)
    step = code_for(page.setup, task.step, {})
    assert "\n".join(lines) in step, "the step shows it"
    with pytest.raises(NotedError):
        exec("\n".join(lines), {"wb": wb, **names})
    return calls.pop()


def noting(calls: list[Any]) -> Callable[..., Any]:
    def note(*args: Any, **settings: Any) -> Any:
        settings.pop("report", None)
        named = [getattr(each, "name", each) for each in args if each is not None]
        values = {n: getattr(each, "name", each) for n, each in settings.items()}
        calls.append((named, values))
        raise NotedError

    return note


@pytest.mark.parametrize("dataset", ["", "digits"])
@pytest.mark.parametrize(
    ("name", "module", "typed", "taken"),
    [
        (
            "verify",
            verification,
            {"engines": "ondevice", "tolerance": "0.01"},
            {"engines": ("ondevice",), "tolerance": 0.01, "seed": 7, "requires_grad": ("*weight",)},
        ),
        (
            "tune",
            tuning,
            {"engines": "ondevice", "save": "tuned.json"},
            {"engines": "ondevice", "batch_size": 4, "learning_rate": 0.01, "seed": 7}
            | {"requires_grad": ("*weight",)},
        ),
        (
            "app",
            federated_app,
            {"path": "for-devices"},
            {"clients": 3, "split": "dirichlet(0.5)", "batch_size": 4, "learning_rate": 0.01}
            | {"seed": 7, "requires_grad": ("*weight",), "device_kernels": False},
        ),
    ],
)
def test_the_code_and_the_page_call_the_same(
    page: Controller,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    module: Any,
    typed: dict[str, str],
    taken: dict[str, Any],
    dataset: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    calls: list[Any] = []
    monkeypatch.setattr(module, name, noting(calls))
    monkeypatch.setattr(wb.federated if name == "app" else wb, name, noting(calls))
    choose(page)
    page.choose_dataset(dataset)
    for field, text in TYPED.items():
        page.typed.type(field, "" if name == "app" and field == "epochs" else text)
    if name == "app":
        federated = {"federation": "yes", "federation.clients": "3", "federation.alpha": "0.5"}
        federated |= {"federation.split": "dirichlet", "federation.unavailable": "0.1"}
        for field, text in {**federated, "detached": "yes"}.items():
            page.typed.type(field, text)
    assert page.tasks.state(name).applies
    page.tasks.open(name, True)
    for field, text in typed.items():
        page.tasks.type(name, field, text)
    by_page = given_by_page(page, name, calls)
    model, data = wb.load_model("digits-mlp"), wb.load_dataset("digits")
    assert by_page == given_by_code(page, name, calls, model=model, data=data)
    positional = ["for-devices"] if name == "app" else []
    assert by_page[0] == [*positional, "digits-mlp", *([dataset] if dataset else [])]
    assert by_page[1] == taken


def test_a_task_is_in_the_code_while_its_section_is_open(page: Controller) -> None:
    told: list[None] = []
    page.tasks.observe(lambda: told.append(None))
    choose(page)
    assert "wb.verify" not in code_for(page.setup, "artifacts", {})
    page.tasks.open("verify", True)
    assert "wb.verify(model)" in code_for(page.setup, "artifacts", {})
    page.tasks.type("verify", "batch_size", "2")
    assert "wb.verify(model, batch_size=2)" in code_for(page.setup, "artifacts", {})
    page.tasks.open("verify", False)
    assert "wb.verify" not in code_for(page.setup, "artifacts", {})
    assert len(told) == 3


def test_clients_are_not_tuned_and_only_they_make_an_app(page: Controller) -> None:
    assert (page.tasks.state("tune").applies, page.tasks.state("app").applies) == (True, False)
    page.typed.type("federation", "yes")
    assert (page.tasks.state("tune").applies, page.tasks.state("app").applies) == (False, True)


@pytest.mark.parametrize(
    ("name", "method", "typed", "taken"),
    [
        ("bundle", "bundle", {"rows": "2"}, {"data": "digits", "rows": 2}),
        ("operators", "required_operators", {"path": "mine.config"}, {}),
        (
            "largest_batch",
            "largest_batch",
            {"memory_bytes": "2 MB", "evaluate": "no"},
            {"memory_bytes": 2_000_000, "evaluate": False},
        ),
    ],
)
def test_some_tasks_are_of_the_artifacts_that_were_generated(
    page: Controller,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    method: str,
    typed: dict[str, str],
    taken: dict[str, Any],
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(Artifacts, method, lambda _, *args, **named: noting(calls)(*args, **named))
    choose(page)
    assert page.tasks.state(name).refusal == NO_ARTIFACTS
    artifacts = Artifacts(Path("nowhere"), {})
    page.tasks.show_prediction(SimpleNamespace(artifacts=artifacts))  # type: ignore[arg-type]
    page.tasks.show_prediction(None, "generating others")
    assert page.tasks.state(name).refusal == ""
    page.tasks.open(name, True)
    for field, text in typed.items():
        page.tasks.type(name, field, text)
    by_page = given_by_page(page, name, calls)
    data = wb.load_dataset("digits")
    by_code = given_by_code(page, name, calls, artifacts=artifacts, data=data)
    if name == "bundle":
        assert by_page[1].pop("path") == by_code[0].pop()
    assert by_page == by_code == ([], taken)
    page.tasks.show_prediction(None, problem="It cannot be trained.")
    assert page.tasks.state(name).refusal == NO_ARTIFACTS


def test_a_nominal_checkpoint_is_generated_as_the_code_does(
    page: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(nominal_checkpoint, "generate_artifacts", noting(calls))
    monkeypatch.setattr(wb, "generate_artifacts", noting(calls))
    choose(page)
    page.tasks.show_prediction(SimpleNamespace(artifacts=Artifacts(Path("a"), {})))  # type: ignore[arg-type]
    page.typed.type("requires_grad", "*weight")
    page.tasks.open("nominal", True)
    page.tasks.type("nominal", "directory", "for-devices")
    by_page = given_by_page(page, "nominal", calls)
    model, data = wb.load_model("digits-mlp"), wb.load_dataset("digits")
    assert by_page == given_by_code(page, "nominal", calls, model=model, data=data)
    given = {"data": "digits", "directory": "for-devices", "requires_grad": ("*weight",)}
    assert by_page == (["digits-mlp"], {**given, "nominal_checkpoint": True})


def test_the_installation_is_checked_before_a_model_is_chosen(
    page: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    fine = Finding("Python", "ok", "3.12")
    broken = Finding("torch", "failed", "not installed", "pip install torch")
    # wb.doctor is the function. It is kept in wb once it was asked for, so it is replaced first.
    monkeypatch.setattr(wb, "doctor", lambda: "checked")
    package = importlib.import_module("workbench.doctor")
    monkeypatch.setattr(package, "doctor", lambda: Diagnosis((fine, broken)))
    page.tasks.open("doctor", True)
    page.tasks.start("doctor")
    result = done(page, "doctor").result
    assert result is not None
    assert not result.good
    assert "fix first: torch" in result.sentences
    [table] = result.tables
    assert table.rows == (
        ("torch", "FAILED", "not installed. To fix it: pip install torch"),
        ("Python", "ok", "3.12"),
    )
    code = code_for(page.setup, "model", {})
    assert code.startswith("import workbench as wb\n\nprint(wb.doctor())\n")
    exec(code)


def test_wrong_gradients_come_first_and_are_called_wrong(
    page: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def row(parameter: str, engine: str, error: float) -> GradientRow:
        return GradientRow(parameter, engine, (2,), error, (0,), 1.0, 1.0, 2)

    found = Verification(
        model="digits-mlp",
        reference="PyTorch",
        reference_loss=1.0,
        tolerance=1e-4,
        batch_size=8,
        engines=(
            EngineVerdict("ondevice", 1.0, 2e-7, ""),
            EngineVerdict("ortmodule", math.nan, math.nan, "It crashed."),
        ),
        gradients=(
            row("a", "ondevice", 1e-6),
            row("b", "ondevice", 0.2),
            row("c", "ondevice", math.inf),
        ),
    )
    monkeypatch.setattr(verification, "verify", lambda *_, **__: found)
    choose(page)
    page.tasks.start("verify")
    result = done(page, "verify").result
    assert result is not None
    assert not result.good
    assert result.sentences.splitlines() == [found.verdict, "ortmodule failed: It crashed."]
    [table] = result.tables
    assert table.columns == ("Gradient of", "ondevice")
    assert table.rows == (
        ("(the loss itself)", "2.0e-07"),
        *(("c", "inf wrong"), ("b", "2.0e-01 wrong"), ("a", "1.0e-06")),
    )


def test_a_tuning_reports_its_choice_and_is_saved(
    page: Controller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow = Measured(variant="default", step_ms=2.0, ratio=1.0, low=1.0, high=1.0)
    fast = Measured(variant="onnxruntime", step_ms=1.0, ratio=0.5, low=0.4, high=0.6)
    entry = Entry(
        engine="ondevice", model="digits-mlp", shapes="0" * 64, batch_size=4, threads=1,
        chosen="onnxruntime", measured=(slow, fast), rounds=7, other_cores=1.0, time=0.0,
    )  # fmt: skip
    place = Environment(processor="a", cores=1, versions={})
    found = Tuning(TuningRecord(place=place, entries=(entry,)))
    monkeypatch.setattr(tuning, "tune", lambda *_, **__: found)
    choose(page)
    page.tasks.type("tune", "save", str(tmp_path / "tuned.json"))
    page.tasks.start("tune")
    result = done(page, "tune").result
    assert result is not None
    assert "Chosen for ondevice: ONNX Runtime's kernels" in result.sentences
    assert "Other programs used 1.0 cores" in result.sentences
    assert f"Saved to {tmp_path / 'tuned.json'}." in result.sentences
    assert (tmp_path / "tuned.json").is_file()
    [table] = result.tables
    assert [row[2] for row in table.rows] == ["0.50 (0.40 to 0.60)", "1.00 (1.00 to 1.00)"]
    page.tasks.type("tune", "save", str(tmp_path))
    page.tasks.start("tune")
    assert "folder" in done(page, "tune").problem, "before some minutes are spent"


def test_the_export_cache_is_shown_switched_off_and_emptied(
    page: Controller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    entry = tmp_path / "exports" / ("0" * 64)
    tmp_path.chmod(0o700)
    entry.parent.mkdir(mode=0o700)
    entry.mkdir()
    (entry / "model.onnx").write_bytes(bytes(2000))
    cache = page.tasks.state
    page.tasks.open("cache", True)
    until(lambda: cache("cache").about == f"1 export, 2.0 kB, in {entry.parent}.")
    assert cache("cache").refusal == "", "it needs no model"
    page.tasks.type("cache", "use", "off")
    assert os.environ["WORKBENCH_CACHE"] == "off"
    until(lambda: cache("cache").about == "It is off.")
    page.tasks.start("cache")
    assert "switch it on" in done(page, "cache").problem
    code = code_for(page.setup, "artifacts", {})
    assert "clear_cache" not in code
    page.tasks.type("cache", "use", "on")
    assert os.environ["WORKBENCH_CACHE"] == str(tmp_path)
    with monkeypatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE", "off")
        exec("\n".join(_task("cache").code(page.setup, {"use": "on"}, [])), {})
        assert os.environ["WORKBENCH_CACHE"] == str(tmp_path)
    assert not entry.exists()
    page.tasks.start("cache")
    assert done(page, "cache").result == TaskResult("Removed 0 B.")
    until(lambda: cache("cache").about.startswith("0 exports"))


def _task(name: str) -> Task:
    return next(each for each in TASKS if each.name == name)


@pytest.mark.parametrize(("fits", "used"), [(64, 64), (4000, 1438)])
def test_the_largest_batch_is_offered_as_far_as_there_are_rows(
    page: Controller, monkeypatch: pytest.MonkeyPatch, fits: int, used: int
) -> None:
    monkeypatch.setattr(Artifacts, "largest_batch", lambda *_, **__: fits)
    choose(page)
    artifacts = Artifacts(Path("nowhere"), {})
    page.tasks.show_prediction(SimpleNamespace(artifacts=artifacts))  # type: ignore[arg-type]
    page.tasks.start("largest_batch")
    result = done(page, "largest_batch").result
    assert result is not None
    assert f"{fits:,} rows" in result.sentences
    assert (result.offer, result.settings) == (f"Use batch size {used:,}", {"batch_size": used})


@pytest.mark.sweep
def test_every_task_runs(
    page: Controller, digits: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All of them for real; the default run holds each to the call that it makes."""
    assert digits.test is not None
    monkeypatch.chdir(tmp_path)
    choose(page)
    page.tasks.type("verify", "engines", "ondevice")
    page.tasks.start("verify")
    state = done(page, "verify")
    assert state.result is not None, state.problem
    assert state.result.good
    assert "agrees with PyTorch" in state.result.sentences
    page.predict()
    until(lambda: not page.tasks.state("bundle").refusal)
    page.tasks.start("bundle")
    state = done(page, "bundle")
    assert state.result is not None, state.problem
    assert Artifacts.load(tmp_path / "device-bundle.zip").trainable
    for name, said in (
        ("largest_batch", "A batch of 65,536 rows fits into 500.0 MB"),
        ("operators", "operators are needed"),
        ("nominal", "nominal_checkpoint"),
    ):
        page.tasks.start(name)
        state = done(page, name)
        assert state.result is not None, state.problem
        assert said in state.result.sentences
    found = page.tasks.state("largest_batch").result
    assert found is not None
    assert found.settings == {"batch_size": len(digits.train)}
    assert "ai.onnx;" in (tmp_path / "required_operators.config").read_text(encoding="utf-8")
    page.typed.set(threads=1)
    page.tasks.type("tune", "engines", "ondevice")
    page.tasks.start("tune")
    until(lambda: ": " in page.tasks.state("tune").doing)  # what, and its phase
    page.tasks.cancel("tune")
    assert done(page, "tune").problem == "Cancelled."
    page.typed.set(threads=None)
    page.typed.set(federation={"clients": 2, "rounds": 1, "split": "dirichlet"})
    page.tasks.start("app")
    state = done(page, "app")
    assert state.result is not None, state.problem
    assert wb.load_run(tmp_path / "federated-app" / "server").federation is not None


def test_the_largest_batch_is_predicted_with_the_kernels_of_the_page(page: Controller) -> None:
    values = {"memory_bytes": 10**8}
    for settings, own in (({}, ""), ({"device_kernels": False}, ", device_kernels=False")):
        page.typed.set(**settings)
        code = LargestBatchTask().code(page.setup, values, [])
        assert code == [f"artifacts.largest_batch(memory_bytes=100000000{own})"]


def test_only_results_of_a_model_are_outdated_by_another_one() -> None:
    controller = Controller(View())
    try:
        outdated = {}
        for name in ("doctor", "verify"):
            controller.setup.model = "digits-mlp"
            before = controller.tasks._now(name)
            controller.setup.model = "digits-cnn"
            outdated[name] = before != controller.tasks._now(name)
        assert outdated == {"doctor": False, "verify": True}
    finally:
        controller.close()


def test_a_value_beyond_its_limits_is_marked_at_its_field() -> None:
    task = next(each for each in TASKS if each.name == "verify")
    _, problems = task.read({"engines": "ondevise", "batch_size": "-1", "tolerance": "1e999"})
    assert problems == {
        "engines": "There is no 'ondevise'. Did you mean 'ondevice'?",
        "batch_size": "Must be 1 or more.",
        "tolerance": "Must be a finite number.",
    }
    assert task.read({"batch_size": "9" * 400})[1] == {}, "too large for a float, and no error"
    values, problems = task.read({"engines": "ondevice, ortmodule", "batch_size": "4"})
    assert (values["batch_size"], problems) == (4, {})
