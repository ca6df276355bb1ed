"""Arguments of `compare` and `load_comparison`, and their record, without any worker."""

from __future__ import annotations

import json
import math
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.runs.written import steps, write_run
from workbench.compare import Comparison, compare, load_comparison
from workbench.compare.lockstep import QUIET_LIMIT_S, Lockstep, LockstepPlan, make_plan
from workbench.compare.record import ComparisonRecord, SavedComparison, comparisons_folder
from workbench.data import Dataset
from workbench.errors import ConfigError, RunFolderError
from workbench.files.json_file import write_json
from workbench.machine.load import Load
from workbench.run_folder.run_folder import home

PROGRAM = import_module("workbench.compare.compare")
QUIET = Load(wall_s=5.0, other_s=0.25, cores=2)


class Started:
    """Stands for the lockstep, and for the workers that it would start."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plan = LockstepPlan(0, 1, 1)
        self.launchers: dict[str, Any] = {}
        self.options: dict[str, Any] = {}
        self.began = 0
        self.launched: list[tuple[Any, ...]] = []
        self.runs: dict[str, Any] = {}
        self.alive, self.paused, self.error, self.phase = True, False, None, ""
        monkeypatch.setattr(PROGRAM, "Lockstep", self.make)
        monkeypatch.setattr(PROGRAM, "launch", self.launch)

    def make(self, plan: LockstepPlan, launchers: dict[str, Any], **options: Any) -> Started:
        self.plan, self.launchers, self.options = plan, launchers, options
        return self

    def start(self) -> None:
        self.began += 1

    def launch(self, model: Any, data: Any, config: Any, **options: Any) -> Any:
        self.launched.append((model, data, config, options))
        run = write_run(config.engine, [], {"status": "completed"}, engine=config.engine)
        worker = SimpleNamespace(poll=lambda: None, pid=17)
        return SimpleNamespace(folder=run.folder, worker=worker, code="code")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    return Started(monkeypatch)


def test_every_engine_has_the_same_settings_and_is_recorded_when_it_starts(
    digits: Dataset, started: Started
) -> None:
    found = compare("digits-mlp", digits, ["fake", "ondevice"], 25, 2.5, seed=3, threads=1)
    assert started.began == 1
    assert (found.engines, found.status) == (["fake", "ondevice"], "starting")
    assert found.progress == (0, 50)
    assert found.unmeasured_steps == started.plan.unmeasured == 5
    assert started.plan == make_plan(25, 5)
    assert started.options["quiet_s"] == 2.5
    assert list(started.launchers) == ["fake", "ondevice"]
    assert started.launched == []
    first = started.launchers["fake"]()
    record = json.loads((home() / "comparisons" / f"{found.id}.json").read_text())
    assert record["runs"] == {"fake": first.id}
    second = started.launchers["ondevice"]()
    for (_, data, config, options), engine in zip(started.launched, found.engines, strict=True):
        assert (config.engine, config.steps, config.seed, config.threads) == (engine, 25, 3, 1)
        assert config.evaluate is False, "evaluations would take turns' time"
        assert data is digits
        assert options == {"granted_steps": 0, "comparison": found.id, "base": None}
    assert started.launched[0][0] is started.launched[1][0], "one model"
    assert (first.watchdog_pid, first.code, first.model) == (17, "code", started.launched[0][0])
    started.options["on_load"](QUIET)
    started.options["on_load"](None)
    assert found.round_loads == [QUIET, None]
    record = json.loads((home() / "comparisons" / f"{found.id}.json").read_text())
    assert record["runs"] == {"fake": first.id, "ondevice": second.id}
    assert record["loads"] == [QUIET._asdict(), None]
    assert record["plan"] == {"warmup": 5, "burst": 1, "total": 25}
    assert record["engines"] == ["fake", "ondevice"]


def test_arguments_not_given_have_defaults(digits: Dataset, started: Started) -> None:
    found = compare("digits-mlp", digits, "fake", evaluate=True)
    assert (found.engines, started.plan.total) == (["fake"], 200)
    assert started.options["quiet_s"] == 0
    started.launchers["fake"]()
    assert started.launched[0][2].evaluate is True
    assert PROGRAM.DEFAULT_ENGINES == ("pytorch", "ondevice", "ortmodule")
    assert QUIET_LIMIT_S == 120


@pytest.mark.fault
def test_all_problems_are_reported_together(digits: Dataset, started: Started) -> None:
    with pytest.raises(ConfigError) as refused:
        compare(
            "digits-mlp", digits, ["fake", "fake"], quiet_s=-1, early_stopping=2, checkpoint_every=3
        )
    leave = "would disturb the measurement or end an engine early: leave it to train()."
    assert [*refused.value.problems] == [
        "engines contains 'fake' twice.",
        "quiet_s=-1 must be a number of seconds, 0 or more.",
        f"checkpoint_every {leave}",
        f"early_stopping {leave}",
    ]
    with pytest.raises(ConfigError, match=r"  - engines=\[\]: give at least one engine\.$"):
        compare("digits-mlp", digits, [])
    with pytest.raises(ConfigError, match="detached is not supported: a comparison is"):
        compare("digits-mlp", digits, detached=False)
    assert (started.began, started.launchers) == (0, {})


@pytest.mark.fault
@pytest.mark.parametrize(
    ("quiet_s", "good"),
    [
        *((value, True) for value in (0, 0.5, 3)),
        *((value, False) for value in (-1e-9, math.nan, math.inf, True, False, "3", None, [3])),
    ],
)
def test_the_idle_time_is_a_number_of_seconds(
    digits: Dataset, started: Started, quiet_s: Any, good: bool
) -> None:
    if good:
        compare("digits-mlp", digits, "fake", quiet_s=quiet_s)
        assert started.options["quiet_s"] == quiet_s
    else:
        with pytest.raises(ConfigError, match=r"quiet_s=.* must be a number of seconds, 0 or more"):
            compare("digits-mlp", digits, "fake", quiet_s=quiet_s)
    assert started.began == good


def recorded(content: dict[str, Any]) -> str:
    comparisons_folder().mkdir(parents=True, exist_ok=True)
    write_json(comparisons_folder() / "one.json", content)
    return "one"


PLAN = {"warmup": 0, "burst": 1, "total": 1}


def test_a_comparison_is_read_from_its_record() -> None:
    run = write_run("a", [steps(1, [1.0])], {"status": "completed"}, engine="fake")
    loads = [QUIET._asdict(), None]
    runs = {"fake": run.id, "pytorch": "20200101-000000-nothing"}
    content = {"plan": PLAN, "engines": ["fake", "pytorch", "ondevice"], "runs": runs}
    found = load_comparison(recorded({**content, "loads": loads, "from_a_newer_version": 1}))
    assert (found.id, found.engines) == ("one", ["fake", "pytorch", "ondevice"])
    assert found.progress == (1, 3)
    assert found.round_loads == [QUIET, None]
    assert found.load == QUIET
    assert found.runs["fake"].id == run.id
    assert "No run" in found.errors["pytorch"]
    assert list(found.table()["status"]) == ["completed", "unreadable", "not started"]
    assert found.status == "stopped", "one engine was never started"
    old = load_comparison(recorded({**content, "engines": ["fake", "pytorch"]}))
    assert (old.round_loads, old.load, old.status) == ([], None, "completed")


def test_a_comparison_that_another_process_goes_on_with_is_read_again() -> None:
    built = {"event": "built", "rss_before_bytes": 1}
    first, second = (write_run("a", [built, steps(1, [1.0])], steps=9) for _ in "ab")
    content = {"plan": PLAN, "engines": ["fake", "pytorch"], "runs": {"fake": first.id}}
    found = load_comparison(recorded(content))
    known = found.runs["fake"]
    assert list(found.runs) == ["fake"]
    both = {"fake": first.id, "pytorch": second.id}
    comparison_id = recorded({**content, "runs": both, "loads": [QUIET._asdict()]})
    assert [run.id for run in found.runs.values()] == [first.id, second.id]
    assert found.runs["fake"] is known, "its records are not read again"
    assert (found.round_loads, found.status) == ([QUIET], "running")
    (home() / "comparisons" / f"{comparison_id}.json").write_text("{")
    assert list(found.runs) == ["fake", "pytorch"], "as they were read"


@pytest.mark.fault
def test_a_missing_comparison_lists_the_existing_ones() -> None:
    folder = comparisons_folder()
    assert folder == home() / "comparisons"
    with pytest.raises(RunFolderError) as refused:
        load_comparison("one")
    assert str(refused.value) == f"No comparison 'one' in {folder}. There are no comparisons yet."
    recorded({})
    with pytest.raises(RunFolderError) as refused:
        load_comparison("ones")
    assert str(refused.value) == f"No comparison 'ones' in {folder}. Did you mean 'one'?"
    with pytest.raises(RunFolderError, match=r"^7 is not a comparison: pass its id"):
        load_comparison(7)  # type: ignore[arg-type]
    with pytest.raises(RunFolderError, match="No comparison"):
        load_comparison("../one")


LOAD = {"wall_s": 0, "other_s": 0, "cores": 1}


@pytest.mark.parametrize(
    ("place", "value", "good"),
    [
        *(("warmup", value, good) for value, good in ((0, True), (-1, False), ("x", False))),
        *(("burst", value, good) for value, good in ((1, True), (0, False))),
        *(("total", value, good) for value, good in ((1, True), (0, False))),
        *(("wall_s", value, good) for value, good in ((0, True), (-0.5, False), (math.inf, False))),
        *(("other_s", v, good) for v, good in ((0, True), (-0.5, False), (math.nan, False))),
        *(("cores", value, good) for value, good in ((1, True), (0, False))),
        *(("engines", value, good) for value, good in ((["fake"], True), ([], False))),
        *(("runs", v, good) for v, good in (({"fake": "a"}, True), ({"fake": "../a"}, False))),
    ],
)
def test_a_record_with_a_value_that_cannot_be_is_refused(
    tmp_path: Path, place: str, value: Any, good: bool
) -> None:
    content: dict[str, Any] = {
        "plan": dict(PLAN),
        "engines": ["fake"],
        "runs": {},
        "loads": [dict(LOAD)],
    }
    inner = content["plan"] if place in PLAN else content["loads"][0] if place in LOAD else content
    inner[place] = value
    path = tmp_path / "record.json"
    path.write_text(json.dumps(content))
    if good:
        saved = SavedComparison.read(path)
        assert saved.as_plan() == LockstepPlan(0, 1, 1)
        assert saved.as_loads() == [Load(0, 0, 1)]
    else:
        with pytest.raises(RunFolderError, match=r"record\.json"):
            SavedComparison.read(path)


def test_a_record_has_the_time_as_its_name_and_is_written_at_each_change() -> None:
    record = ComparisonRecord(LockstepPlan(1, 2, 3), ["fake"])
    assert record.path == comparisons_folder() / f"{record.id}.json"
    assert not record.path.exists()
    record.add_load(None)
    assert SavedComparison.read(record.path).as_loads() == [None]
    record.add_run("fake", "an-id")
    assert SavedComparison.read(record.path).runs == {"fake": "an-id"}
    assert SavedComparison.read(record.path).as_plan() == LockstepPlan(1, 2, 3)


class Driven:
    """A lockstep in a state that is given."""

    def __init__(self, runs: dict[str, Any], **state: Any) -> None:
        self.runs = runs
        self.alive = state.get("alive", True)
        self.paused = state.get("paused", False)
        self.error: Exception | None = state.get("error")
        self.phase = state.get("phase", "")
        self.done: list[Any] = []

    def pause(self) -> None:
        self.done.append("pause")

    def resume(self) -> None:
        self.done.append("resume")

    def stop(self) -> None:
        self.done.append("stop")

    def join(self, timeout: float) -> None:
        self.done.append(timeout)
        self.alive = len(self.done) < 3


def driven(runs: dict[str, Any], **state: Any) -> tuple[Comparison, Driven]:
    lockstep = Driven(runs, **state)
    made = Comparison("c", LockstepPlan(0, 1, 2), ["fake", "pytorch"], lockstep=lockstep)  # type: ignore[arg-type]
    return made, lockstep


def test_the_phase_is_that_of_the_lockstep_or_of_the_engine_that_starts() -> None:
    phase = {"event": "phase", "text": "exporting"}
    first = write_run("a", [phase])
    second = write_run("b", [phase], engine="pytorch")
    none, one, both = {}, {"fake": first}, {"fake": first, "pytorch": second}
    assert driven(none)[0].phase == "starting"
    assert driven(none, phase="waiting")[0].phase == "waiting"
    assert (driven(one)[0].status, driven(one)[0].phase) == ("starting", "fake: exporting")
    assert (driven(both)[0].status, driven(both)[0].phase) == ("running", "pytorch: exporting")
    assert driven(both, phase="fake: finishing")[0].phase == "fake: finishing"
    paused = driven(both, paused=True, phase="fake: finishing")[0]
    assert (paused.status, paused.phase, paused.ended) == ("paused", "paused", False)
    failed = driven(both, alive=False, error=OSError("no space"))[0]
    assert (failed.status, failed.phase, failed.error) == ("failed", "failed", "no space")
    assert failed.ended
    assert driven(both)[0].error is None
    assert driven(both, alive=False)[0].status == "running", "its runs have not ended"


def test_the_phase_is_running_once_the_last_engine_has_taken_a_step() -> None:
    last = SimpleNamespace(status="starting", phase="exporting", ended=False)
    comparison = driven({"fake": write_run("a", []), "pytorch": last})[0]
    assert (comparison.status, comparison.phase) == ("running", "pytorch: exporting")
    last.status = "running"
    assert (comparison.status, comparison.phase) == ("running", "running")


def test_a_comparison_is_steered_through_its_lockstep() -> None:
    comparison, lockstep = driven({})
    comparison.pause()
    comparison.resume()
    lockstep.alive = True
    comparison.stop()
    assert lockstep.done == ["pause", "resume", "stop"]


def test_waiting_joins_the_lockstep_and_raises_its_error() -> None:
    run = write_run("a", [], {"status": "completed"})
    comparison, lockstep = driven({"fake": run, "pytorch": run})
    assert comparison.wait() is comparison
    assert lockstep.done == [0.1] * 3
    error = OSError("no space")
    comparison, lockstep = driven({"fake": run}, error=error)
    with pytest.raises(OSError, match="no space") as caught:
        comparison.wait()
    assert caught.value is error
    comparison, lockstep = driven({"fake": run})
    with pytest.raises(TimeoutError, match=r"^c is still starting after 0 s\.$"):
        comparison.wait(0)


def test_a_loaded_comparison_stops_each_of_its_runs() -> None:
    stopped: list[str] = []
    runs: Any = {
        name: SimpleNamespace(stop=lambda name=name: stopped.append(name)) for name in ("a", "b")
    }
    Comparison("c", LockstepPlan(0, 1, 2), ["a", "b"], runs=runs).stop()
    assert stopped == ["a", "b"]


def test_the_load_of_all_rounds_decides_whether_the_machine_was_busy() -> None:
    quiet, busy = Load(10.0, 0.2, 2), Load(10.0, 8.0, 2)

    def of(loads: list[Load | None], *engines: str) -> Comparison:
        return Comparison("c", LockstepPlan(0, 1, 2), [*engines], loads)

    assert (of([], "fake").load, of([], "fake").warning) == (None, "")
    assert of([None], "fake").load is None
    both = of([quiet, None, busy], "fake", "pytorch")
    assert both.load == Load(20.0, 8.2, 2)
    assert both.warning == (
        "The machine was busy (other programs used 0.4 of 2 cores): these ratios are not reliable."
    )
    assert of([busy], "fake").warning.endswith("these figures are not reliable.")
    assert of([quiet], "fake", "pytorch").warning == ""
    assert list(both.table()["warning"]) == ["", ""], "of engines without a run"


def test_an_engine_without_a_run_has_no_ratio() -> None:
    comparison = Comparison("c", LockstepPlan(0, 1, 2), ["fake", "pytorch"])
    assert all(math.isnan(each) for each in comparison.ratio("fake"))
    assert (comparison.caption, comparison.errors, comparison.pytorch_fallbacks) == ("", {}, {})
    assert comparison.verdict().level == "none"
    assert list(comparison.table()["status"]) == ["not started"] * 2
    waiting, _ = driven({})
    assert list(waiting.table()["status"]) == ["waiting"] * 2
    assert list(waiting.table()["rounds"]) == [0, 0]
    assert list(waiting.table()["steps"]) == [0, 0]
    assert set(waiting.table()["pytorch_fallbacks"]) == {""}


def test_the_thread_of_a_lockstep_does_not_keep_a_program_alive() -> None:
    lockstep = Lockstep(LockstepPlan(0, 1, 1), {})
    assert (lockstep._thread.daemon, lockstep._thread.name) == (True, "lockstep")
    assert (lockstep.alive, lockstep.paused, lockstep.error, lockstep.phase) == (
        *(False, False, None, ""),
    )


def test_a_loaded_comparison_is_looked_at_ten_times_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = write_run("a", [])
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            run.folder.write_summary({"status": "completed", "error": None})

    program = import_module("workbench.compare.comparison")
    monkeypatch.setattr(program, "time", SimpleNamespace(sleep=sleep))
    found = Comparison("c", LockstepPlan(0, 1, 2), ["fake"], runs={"fake": run}).wait(3600)
    assert found.status == "completed"
    assert slept == [0.1] * 3


@pytest.mark.parametrize("engines", [None, 3, ["pytorch", None]])
def test_engines_that_are_no_names_are_refused(engines: Any) -> None:
    with pytest.raises(ConfigError, match=r"engines=.*: give a list of names of engines\.$"):
        compare("digits-mlp", engines=engines, steps=3)


def test_engines_may_come_from_an_iterator(digits: Dataset, started: Started) -> None:
    compare("digits-mlp", digits, engines=(name for name in ["pytorch", "ondevice"]), steps=3)  # type: ignore[arg-type]
    assert [*started.launchers] == ["pytorch", "ondevice"]
