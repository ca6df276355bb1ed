"""Training and comparing from the command line, with the fake engine and with PyTorch."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import get_args

import pytest

import workbench as wb
from tests.cli.command import COMMAND, Invoke
from workbench.cli.commands import training
from workbench.cli.setting_options import OPTIONS
from workbench.compare.compare import NOT_COMPARED
from workbench.display.number_format import significant
from workbench.runs.continuation.resuming import CHANGEABLE
from workbench.settings.config import TrainingConfig
from workbench.settings.lora import LoraOptions


def test_train_prints_one_json_document(workbench: Invoke) -> None:
    outcome = workbench("train", "digits-mlp", "--engine=fake", "--steps=25", "--json")
    assert outcome.status == 0, outcome.stderr
    facts = outcome.json
    assert (facts["engine"], facts["status"], facts["steps"]) == ("fake", "completed", 25)
    run = wb.load_run(facts["id"])
    assert facts["loss"] == run.history["loss"].iloc[-1]
    assert facts["test_accuracy"] == run.evaluations["accuracy"].iloc[-1]
    assert facts["peak_rss_bytes"] > 1e6


def test_settings_reach_the_run(workbench: Invoke) -> None:
    settings = {
        "steps": 4,
        "batch_size": 10,
        "learning_rate": 0.01,
        "optimizer": "sgd",
        "weight_decay": 0.1,
        "seed": 3,
        "threads": 1,
        "warmup_steps": 1,
        "memory_limit_bytes": 10**9,
    }
    options = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    outcome = workbench("train", "digits-mlp", "--engine=fake", "--no-evaluate", *options, "--json")
    assert outcome.status == 0, outcome.stderr
    config = wb.load_run(outcome.json["id"]).config
    assert {name: getattr(config, name) for name in settings} == settings
    assert config.evaluate is False
    assert config.engine == "fake"


def test_a_device_is_a_profile_or_numbers(workbench: Invoke) -> None:
    options = ("train", "digits-mlp", "--engine=fake", "--steps=2", "--no-evaluate", "--json")
    outcome = workbench(*options, "--device=cores=1,memory_bytes=900000000")
    assert outcome.status == 0, outcome.stderr
    config = wb.load_run(outcome.json["id"]).config
    assert config.device is not None
    assert (config.device.cores, config.device.memory_bytes) == (1, 900_000_000)
    assert config.threads == 1
    wrong = workbench(*options, "--device=fone")
    assert wrong.status != 0
    assert "Did you mean 'phone'?" in wrong.stderr


def test_a_run_is_resumed_from_its_checkpoint(workbench: Invoke) -> None:
    options = ["--lr-schedule=cosine", "--lr-warmup-steps=2", "--gradient-accumulation=2"]
    first = workbench("train", "digits-mlp", "--engine=fake", "--steps=4", *options, "--json")
    assert first.status == 0, first.stderr
    changed = ["--steps=6", "--threads=1", "--warmup-steps=3", "--no-evaluate"]
    again = workbench("resume", first.json["id"], *changed, "--json")
    assert again.status == 0, again.stderr
    facts = again.json
    config = wb.load_run(facts["id"]).config
    assert (config.threads, config.warmup_steps, config.evaluate) == (1, 3, False)
    assert (facts["id"], facts["status"], facts["steps"]) == (first.json["id"], "completed", 6)
    done = workbench("resume", facts["id"])
    assert done.status != 0
    assert "has taken 6 of 6 steps" in done.stderr


def test_options_not_given_have_the_models_defaults(workbench: Invoke) -> None:
    outcome = workbench("train", "digits-mlp", "--engine=fake", "--epochs=1", "--json")
    config = wb.load_run(outcome.json["id"]).config
    defaults = {**wb.load_model("digits-mlp").defaults, "epochs": 1}
    assert {name: getattr(config, name) for name in defaults} == defaults


@pytest.mark.parametrize("command", [training.train, training.compare])
def test_every_setting_is_an_option(command: object) -> None:
    assert callable(command)
    parameters = set(inspect.signature(command).parameters)
    settings = set(TrainingConfig.model_fields) - {"lora"}
    settings |= {f"lora_{name}" for name in LoraOptions.model_fields}
    if command is training.compare:
        # A comparison is about steps, and its engines are several.
        settings = (settings - {"engine", "epochs"} - NOT_COMPARED) | {"engines"}
    assert settings <= parameters


@pytest.mark.parametrize("name", sorted(OPTIONS.keys() & TrainingConfig.model_fields.keys()))
def test_an_option_has_the_type_of_its_setting(name: str) -> None:
    kind, _ = OPTIONS[name]
    annotation = TrainingConfig.model_fields[name].annotation
    kinds = {annotation, *get_args(annotation)} & {int, float, bool}
    assert not kinds or kind in kinds


def test_every_setting_that_can_change_is_an_option_of_resume() -> None:
    assert CHANGEABLE - {"loss"} <= set(inspect.signature(training.resume).parameters)


def test_people_get_facts_and_a_bar(workbench: Invoke) -> None:
    outcome = workbench("train", "digits-mlp", "--engine=fake", "--steps=25")
    assert outcome.status == 0, outcome.stderr
    facts = dict(line.split(maxsplit=1) for line in outcome.stdout.splitlines())
    assert facts["status"] == "completed"
    assert "25/25" in outcome.stderr


def test_data_from_a_file(workbench: Invoke, tmp_path: Path) -> None:
    digits = wb.load_dataset("digits").train
    import numpy as np

    np.savez(tmp_path / "mine.npz", image=digits.inputs[0], label=digits.target)
    outcome = workbench(
        "train", "digits-mlp", "--data=mine.npz", "--engine=fake", "--steps=5", "--json"
    )
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["dataset"] == "mine"


@pytest.mark.fault
def test_a_failed_run_is_status_1_with_its_cause(workbench: Invoke) -> None:
    outcome = workbench(
        *("train", "digits-mlp", "--engine=fake", "--steps=10", "--json"),
        WORKBENCH_FAKE=json.dumps({"signal_at": [3, "SIGSEGV"]}),
    )
    assert outcome.status == 1
    assert outcome.stdout == ""
    assert "SIGSEGV" in outcome.stderr
    assert "worker.log" in outcome.stderr


@pytest.mark.sweep
def test_compare_prints_one_json_document(workbench: Invoke) -> None:
    outcome = workbench(
        *("compare", "digits-mlp", "--engines", "pytorch, fake", "--steps", "30", "--json"),
        *("--plot", "figure.svg"),
    )
    assert outcome.status == 0, outcome.stderr
    document = outcome.json
    assert document["status"] == "completed"
    assert document["reference"] == "pytorch"
    rows = {row["engine"]: row for row in document["engines"]}
    assert list(rows) == ["pytorch", "fake"]
    assert rows["pytorch"]["ratio"] == 1
    assert rows["pytorch"]["max_loss_difference"] == 0
    assert set(document["runs"]) == {"pytorch", "fake"}
    assert len(document["round_loads"]) == 25
    assert set(document["load"]) == {"wall_s", "other_s", "cores", "other_cores"}
    assert ("not reliable" in document["warning"]) == bool(document["warning"])
    assert {row["warning"] for row in rows.values()} == {document["warning"]}
    assert document["verdict"]["level"] == ("busy" if document["warning"] else "quiet")
    assert (
        "as fast as pytorch" in document["verdict"]["sentence"]
        or "no difference" in (document["verdict"]["sentence"])
    )
    figure = Path(wb.load_run(document["runs"]["fake"]).folder.path.parents[2] / "figure.svg")
    assert "<svg" in figure.read_text(encoding="utf-8")


def test_compare_prints_a_table(workbench: Invoke) -> None:
    outcome = workbench("compare", "digits-mlp", "--engines=fake", "--steps=30")
    assert outcome.status == 0, outcome.stderr
    verdict, _, header, row, *_ = outcome.stdout.splitlines()
    assert "There is no ratio, as there is only one engine: choose another" in verdict
    assert header.split()[:3] == ["engine", "samples_per_s", "ratio"]
    name, throughput, ratio, *_ = row.split()
    assert (name, ratio) == ("fake", "-")
    assert throughput == significant(float(throughput.replace(",", "")))
    assert "batch 32" in outcome.stdout
    assert "There is no ratio, as there is only one engine." in outcome.stdout


def test_the_wait_for_an_idle_machine_is_given_in_seconds(workbench: Invoke) -> None:
    outcome = workbench("compare", "digits-mlp", "--engines=fake", "--quiet-s=-1")
    assert outcome.status == 1
    assert "quiet_s=-1.0 must be a number of seconds, 0 or more" in outcome.stderr


@pytest.mark.fault
def test_a_figure_in_no_known_format_is_refused(workbench: Invoke) -> None:
    outcome = workbench("train", "digits-mlp", "--engine=fake", "--steps=5", "--plot=figure.tiger")
    assert outcome.status == 1
    assert "figure.tiger" in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("command", ["train", "compare"])
def test_an_interrupt_stops_cleanly(command: str, workbench_home: Path, tmp_path: Path) -> None:
    engine = "--engine=fake" if command == "train" else "--engines=fake"
    process = subprocess.Popen(
        [COMMAND, command, "digits-mlp", engine, "--steps=100000", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "WORKBENCH_FAKE": json.dumps({"step_ms": 5})},
    )
    try:
        wait_for_steps(workbench_home / "runs", process)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, stderr
    assert "Stopping" in stderr
    assert "Traceback" not in stderr
    document = json.loads(stdout)
    assert document["status"] == "stopped"
    run = wb.load_run(document["id"] if command == "train" else document["runs"]["fake"])
    assert run.status == "stopped"
    assert run.checkpoint is not None
    assert run.weights()


def wait_for_steps(runs: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a run in `runs` has taken a step."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if any('"steps"' in path.read_text("utf-8") for path in runs.glob("*/events.jsonl")):
            return
        time.sleep(0.05)
    pytest.fail(f"No step was taken: {process.communicate()[1] if process.poll() else ''}")
