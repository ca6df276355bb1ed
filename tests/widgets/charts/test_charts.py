"""Messages of charts: only new values, binary and bounded, and all of them on request."""

from __future__ import annotations

import errno
import io
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from traitlets import TraitError

from workbench.chart_series import COLUMNS, Recording
from workbench.errors import ConfigError, RunError
from workbench.run_folder.run_reader import NewPoints
from workbench.settings.engines import engine_table
from workbench.widgets.charts import Charts
from workbench.widgets.charts.messages import OVERVIEW_BLOCKS

STEP, LOSS = COLUMNS.index("step"), COLUMNS.index("loss")


def points(first: int, count: int, **more: Any) -> NewPoints:
    """Steps from `first` whose loss is their number; the memory is sampled at the last."""
    step = np.arange(first, first + count)
    rss = np.full(count, np.nan)
    if count:
        rss[-1] = 100e6
    found = NewPoints(
        step=step,
        epoch=np.ones(count, dtype=np.int64),
        loss=step.astype(np.float64),
        seconds=np.full(count, 0.5),
        samples=np.full(count, 32),
        rss_bytes=rss,
        events=[],
    )
    return found._replace(**more)


def evaluation(step: int, loss: float, accuracy: float) -> dict[str, Any]:
    return {"event": "evaluation", "step": step, "epoch": 1, "loss": loss, "accuracy": accuracy}


class Wire:
    """Charts of two engines and what they sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.charts = Charts()
        self.sent: list[tuple[dict[str, Any], list[np.ndarray]]] = []
        monkeypatch.setattr(self.charts, "send", self.receive)
        self.charts.reset(["pytorch", "ondevice"], total_steps=10)
        self.sent.clear()

    def receive(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        self.sent.append((content, [np.frombuffer(buffer, np.float32) for buffer in buffers]))

    def steps(self, message: int, part: int = 0) -> list[float]:
        """The steps of one part of one message."""
        content, buffers = self.sent[message]
        header = content["parts"][part]
        per_part = 3 if content["kind"] == "points" else 1
        block = buffers[per_part * part].reshape(len(COLUMNS), -1)
        assert block.shape[1] == header["count"]
        return list(block[STEP] + header["base"][0])

    def ask(self, **content: Any) -> None:
        self.charts._handle_custom_msg(content, [])


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(monkeypatch)


def test_steps_repeated_by_a_resumed_run_are_removed(wire: Wire) -> None:
    wire.charts.add("pytorch", points(1, 5, events=[evaluation(4, 1.0, 0.5)]))
    wire.charts.flush()
    wire.charts.add("pytorch", points(6, 2))
    wire.charts.add("ondevice", points(1, 2))
    wire.charts.add("pytorch", points(4, 3, restored_step=3))
    wire.charts.flush()
    assert wire.charts.points("pytorch")[0].tolist() == [1, 2, 3, 4, 5, 6]
    assert wire.steps(0) == [1, 2, 3, 4, 5]
    assert wire.sent[1][0]["full"]
    assert wire.steps(1) == [1, 2, 3]
    assert wire.sent[1][1][1].size == 0, "the evaluation came after the step gone back to"
    assert wire.steps(2) == [4, 5, 6]
    wire.sent.clear()
    wire.charts.add("pytorch", points(7, 0, restored_step=6))
    assert not wire.sent, "nothing is to be forgotten"


def test_a_flush_sends_all_new_points_in_one_message(wire: Wire) -> None:
    wire.charts.add("pytorch", points(1, 3))
    wire.charts.add("pytorch", points(4, 2))
    wire.charts.add("ondevice", points(1, 1))
    wire.charts.flush()
    wire.charts.add("pytorch", points(6, 1))
    wire.charts.flush()
    (first, _), (second, _) = wire.sent
    assert [(part["key"], part["start"]) for part in first["parts"]] == [
        ("pytorch", 0),
        ("ondevice", 0),
    ]
    assert not first["full"]
    assert wire.steps(0) == [1, 2, 3, 4, 5]
    assert [part["start"] for part in second["parts"]] == [5]
    assert wire.steps(1) == [6]
    assert second["sequence"] == first["sequence"] + 1


def test_nothing_new_sends_nothing(wire: Wire) -> None:
    wire.charts.flush()
    wire.charts.add("pytorch", points(1, 0))
    wire.charts.flush()
    assert wire.sent == []
    assert wire.charts.empty
    wire.charts.add("pytorch", points(1, 1))
    assert not wire.charts.empty


def test_a_view_that_asks_gets_everything(wire: Wire) -> None:
    for first in (1, 4):
        wire.charts.add("pytorch", points(first, 3))
        wire.charts.flush()
    wire.sent.clear()
    wire.ask(kind="sync")
    [(message, _)] = wire.sent
    assert message["full"]
    assert [part["count"] for part in message["parts"]] == [6, 0]
    assert wire.steps(0) == [1, 2, 3, 4, 5, 6]


def test_a_reset_begins_a_new_generation(wire: Wire) -> None:
    wire.charts.add("pytorch", points(1, 3))
    wire.charts.flush()
    before = wire.sent[-1][0]["generation"]
    wire.charts.hidden, wire.charts.window = ["pytorch"], [1.0, 2.0]
    wire.charts.reset(["fake"], total_steps=7)
    message, _ = wire.sent[-1]
    assert message["generation"] > before
    assert message["full"]
    assert wire.charts.points("fake").shape == (4, 0)
    assert wire.charts.total_steps == 7
    assert (wire.charts.hidden, wire.charts.window) == ([], [])


def test_a_long_run_is_sent_in_few_blocks_and_then_only_the_last_of_them(wire: Wire) -> None:
    wire.charts.add("pytorch", points(1, 100_000))
    wire.charts.flush()
    [(message, buffers)] = wire.sent
    [part] = message["parts"]
    assert part["stride"] == 64
    assert part["count"] <= OVERVIEW_BLOCKS
    blocks = buffers[0].reshape(len(COLUMNS), -1)
    assert blocks[COLUMNS.index("loss_min"), 1] == 65
    assert blocks[COLUMNS.index("loss_max"), 1] == 128
    wire.charts.add("pytorch", points(100_001, 10))
    wire.charts.flush()
    [part] = wire.sent[1][0]["parts"]
    assert (part["start"], part["count"]) == (100_000 // 64, 1), "the last block is replaced"
    wire.charts.add("pytorch", points(100_011, 100_000))
    wire.charts.flush()
    [part] = wire.sent[2][0]["parts"]
    assert (part["start"], part["stride"]) == (0, 128), "coarser blocks replace all"


def test_a_view_that_is_zoomed_in_gets_single_steps(wire: Wire) -> None:
    wire.charts.add("pytorch", points(1, 100_000))
    wire.charts.flush()
    wire.sent.clear()
    wire.ask(kind="detail", id="x", ranges={"pytorch": [50_000, 50_003], "absent": [0, 1]})
    [(message, _)] = wire.sent
    assert (message["kind"], message["id"]) == ("detail", "x")
    assert [(part["key"], part["stride"]) for part in message["parts"]] == [("pytorch", 1)]
    assert wire.steps(0) == [49_999, 50_000, 50_001, 50_002, 50_003]
    assert message["parts"][0]["base"][1] == 49_998 * 0.5


@pytest.mark.fault
@pytest.mark.parametrize(
    "content",
    [
        {"kind": "detail", "ranges": {"pytorch": [5, 1]}},
        {"kind": "detail", "ranges": {"pytorch": "all"}},
        {"kind": "detail", "ranges": {"pytorch": [0, float("nan")]}},
        {"kind": "detail"},
        {"kind": "export", "id": "1", "format": "exe"},
        {"kind": "detail", "ranges": {"pytorch": [0, 10**400]}},
        {"kind": "detail", "ranges": [1]},
        {"kind": "detail", "ranges": 5},
        {"kind": "export", "format": "png"},
        {"kind": "unknown"},
        {},
        *(None, 5, [], "x"),
    ],
)
def test_a_message_that_makes_no_sense_gets_no_points(wire: Wire, content: Any) -> None:
    wire.charts.add("pytorch", points(1, 10))
    wire.charts._on_message(None, content, [])
    assert all(message["parts"] == [] for message, _ in wire.sent)


def test_points_are_step_loss_rate_and_megabytes() -> None:
    charts = Charts()
    charts.reset(["fake"])
    rss = np.array([np.nan, 10e6, np.nan, np.nan, 20e6, np.nan])
    charts.add("fake", points(1, 6, rss_bytes=rss))
    charts.add("fake", points(7, 1, rss_bytes=np.array([np.nan])))
    found = charts.points("fake")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[:3], [np.arange(1, 8), np.arange(1, 8), [64.0] * 7])
    assert found[3].tolist() == [10, 10, 20, 20, 20, 20, 20], "each step has that of its record"


def test_evaluations_incidents_and_best_values_go_with_the_points(wire: Wire) -> None:
    losses = np.array([3.0, 2.0, np.nan, 4.0])
    events = [evaluation(2, 1.5, 0.25), evaluation(4, 1.25, 0.5)]
    wire.charts.add("pytorch", points(1, 4, loss=losses, events=events))
    wire.charts.flush()
    [(message, buffers)] = wire.sent
    [part] = message["parts"]
    assert buffers[1].reshape(3, -1).tolist() == [[2, 4], [1.5, 1.25], [25, 50]]
    assert part["best"] == {"value": 2.0, "step": 2}
    assert part["best_evaluation"] == {"value": 1.25, "step": 4}
    assert part["metric"]["title"] == "Accuracy"
    [incident] = part["incidents"]
    assert incident["text"] == "loss not finite at step 3"


def test_engines_far_apart_make_the_axis_logarithmic(wire: Wire) -> None:
    wire.charts.add("pytorch", points(1, 50))
    wire.charts.add("ondevice", points(1, 50, seconds=np.full(50, 0.5 / 300)))
    wire.charts.flush()
    spreads = wire.sent[-1][0]["spreads"]
    assert spreads["throughput"] == pytest.approx(300)
    assert spreads["loss"] == 1.0


def test_a_loss_that_explodes_makes_the_axis_logarithmic(wire: Wire) -> None:
    """Also of one engine alone, and where a loss that is not finite follows."""
    wire.charts.add("pytorch", points(1, 4, loss=np.array([2.0, 2e9, 2e30, np.nan])))
    wire.charts.flush()
    assert wire.sent[-1][0]["spreads"]["loss"] == pytest.approx(1e30)


def test_an_engine_that_has_just_begun_is_compared_with_how_others_began(wire: Wire) -> None:
    """Else the axis of the loss is logarithmic until its losses have fallen, too."""
    falling = np.geomspace(3.0, 1e-3, 400)
    wire.charts.add("pytorch", points(1, 400, loss=falling))
    wire.charts.add("ondevice", points(1, 2, loss=falling[:2]))
    wire.charts.flush()
    assert wire.sent[-1][0]["spreads"]["loss"] == pytest.approx(1.0, rel=0.05)


def test_values_are_last_best_and_those_at_a_step(wire: Wire) -> None:
    losses = np.array([3.0, 1.0, 2.0])
    wire.charts.add("pytorch", points(1, 3, loss=losses, events=[evaluation(3, 0.5, 1.0)]))
    row = wire.charts.values(at=2).loc["pytorch"]
    assert (row["last_loss"], row["last_step"]) == (2.0, 3)
    assert (row["best_loss"], row["best_step"]) == (1.0, 2)
    assert (row["best_test_loss"], row["best_test_step"]) == (0.5, 3)
    assert (row["at_step"], row["at_loss"], row["at_seconds"]) == (2, 1.0, 1.0)
    assert row["at_samples_per_s"] == 64.0
    assert wire.charts.values().loc["ondevice", "last_step"] == 0


@pytest.mark.parametrize(
    "axis", ["step", *(pytest.param(each, marks=pytest.mark.sweep) for each in ("time", "samples"))]
)
def test_pictures_and_numbers_are_saved(wire: Wire, tmp_path: Path, axis: str) -> None:
    wire.charts.add("pytorch", points(1, 3, events=[evaluation(3, 0.5, 0.5)]))
    wire.charts.add("ondevice", points(1, 2))
    wire.charts.axis, wire.charts.smoothing = axis, 2
    for name, start in {"c.png": b"\x89PNG", "c.svg": b"<?xml"}.items():
        assert wire.charts.save(tmp_path / name).read_bytes().startswith(start)
    frame = pd.read_csv(io.BytesIO(wire.charts.save(tmp_path / "c.csv").read_bytes()))
    assert frame["run"].tolist() == ["pytorch"] * 3 + ["ondevice"] * 2
    assert frame["loss"].tolist() == [1, 2, 3, 1, 2]
    assert frame["samples_per_s"].tolist() == [64.0] * 5
    assert frame["test_loss"].tolist()[2] == 0.5
    assert frame["test_accuracy"].tolist()[2] == 0.5
    wire.charts.hidden = ["pytorch"]
    frame = pd.read_csv(wire.charts.save(tmp_path / "c.csv"))
    assert frame["run"].tolist() == ["ondevice"] * 2


def test_a_picture_of_one_curve_is_saved(wire: Wire, tmp_path: Path) -> None:
    wire.charts.reset(["pytorch"])
    wire.charts.add("pytorch", points(1, 3))
    assert wire.charts.save(tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_a_window_has_the_lines_of_the_whole(wire: Wire) -> None:
    random = np.random.default_rng(0)
    seconds = random.uniform(0.1, 1, 300)
    wire.charts.add("pytorch", points(1, 300, loss=random.uniform(1, 2, 300), seconds=seconds))
    wire.charts.smoothing = 10

    def lines(first: int) -> list[np.ndarray]:
        panels = wire.charts._file().figure().axes[:2]
        drawn = [panel.lines[-1].get_xydata() for panel in panels]  # smoothed, then throughput
        return [np.array([point for point in one if first <= point[0] <= 250]) for one in drawn]

    whole = lines(200)
    wire.charts.window = [200, 250]
    for one, other in zip(whole, lines(200), strict=True):
        np.testing.assert_allclose(one, other, rtol=5e-3)  # what precedes has faded out


@pytest.mark.fault
def test_a_picture_that_cannot_be_written_leaves_the_earlier_one(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.charts.add("pytorch", points(1, 3))
    saved = wire.charts.save(tmp_path / "new" / "c.csv")
    before = saved.read_bytes()
    write = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        write(self, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RunError, match=r"c\.csv"):
        wire.charts.save(saved)
    assert saved.read_bytes() == before
    assert [*saved.parent.iterdir()] == [saved]


def test_a_file_shows_one_moment_and_every_step_until_then(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.charts.add("pytorch", points(1, 500))
    blocks, more = Recording.blocks, iter([points(501, 100)])

    def overtaken(self: Recording, *given: int) -> Any:
        found = blocks(self, *given)
        for each in more:
            wire.charts.add("pytorch", each)
        return found

    monkeypatch.setattr(Recording, "blocks", overtaken)
    frame = pd.read_csv(wire.charts.save(tmp_path / "c.csv"))
    assert frame["step"].tolist() == [*range(1, 501)]
    frame = pd.read_csv(wire.charts.save(tmp_path / "c.csv"))
    assert frame["step"].tolist() == [*range(1, 601)]


def test_rows_of_a_window_have_the_throughput_of_the_whole(wire: Wire) -> None:
    wire.charts.add("pytorch", points(1, 20))
    whole = wire.charts._file().frame().set_index("step")
    wire.charts.window = [5, 9]
    shown = wire.charts._file().frame().set_index("step")
    assert shown.index.tolist() == [5, 6, 7, 8, 9]
    assert shown["samples_per_s"].tolist() == whole["samples_per_s"].loc[5:9].tolist()
    assert shown["samples_per_s"].notna().all()


def test_a_picture_says_whose_curves_it_has_and_over_what_they_are_means(wire: Wire) -> None:
    titles = [f"digits-mlp · {engine} · 23 Nov 22:08:2{i}" for i, engine in enumerate("ab")]
    wire.charts.curves = [
        {**curve, "detail": title} for curve, title in zip(wire.charts.curves, titles, strict=True)
    ]
    wire.charts.add("pytorch", points(1, 50))
    wire.charts.smoothing = 20
    wire.charts.scales = {**wire.charts.scales, "loss": "log"}
    file = wire.charts._file()
    assert re.fullmatch(r"digits-mlp-a-b-\d{4}-\d\d-\d\d", file.stem)
    figure = file.figure()
    figure.draw_without_rendering()
    title = figure.get_suptitle().replace("\n", " ")
    assert title.startswith("digits-mlp · pytorch · 23 Nov 22:08:20; ondevice · 22:08:21, saved ")
    wire.charts.verdict = "b does 1.2 times the samples of a; " + "the machine was busy. " * 9
    title, *below = wire.charts._file().figure().get_suptitle().splitlines()
    assert title.startswith("digits-mlp")
    assert " ".join(below).endswith(wire.charts.verdict.rstrip())
    assert max(map(len, below)) < 100, "wrapped, so that it is not cut"
    wire.charts.reset(["pytorch"])
    assert wire.charts.verdict == ""
    loss, rate = figure.axes[0], figure.axes[1]
    assert loss.get_title("left") == "Loss, mean over about 20 steps"
    assert rate.get_title("left") == "Throughput, samples/s, mean of the last 20 steps"
    assert len(rate.lines) == 2, "the pale line before it was smoothed is there"
    ticks = [*loss.get_yticklabels(), *loss.get_yticklabels(minor=True)]
    texts = [tick.get_text() for tick in ticks if tick.get_text()]
    assert texts
    assert all(float(text) > 0 for text in texts), "numbers, not powers"


@pytest.mark.fault
def test_invalid_charts_are_refused_in_a_sentence(wire: Wire, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"end it in \.png, \.svg or \.csv"):
        wire.charts.save(tmp_path / "charts.pdf")
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="Part of the path is a file"):
        wire.charts.save(tmp_path / "file" / "charts.csv")
    for path in (None, 5):
        with pytest.raises(RunError, match="is not the path of a file"):
            wire.charts.save(path)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="one of step, time, samples"):
        wire.charts.axis = "epoch"
    with pytest.raises(ConfigError, match="smoothing=-1"):
        wire.charts.smoothing = -1
    with pytest.raises(ConfigError, match="one of auto, linear, log"):
        wire.charts.scales = {"loss": "cubic"}
    with pytest.raises(ConfigError, match="window="):
        wire.charts.window = [3.0, 1.0]
    with pytest.raises(ConfigError, match="there is no such curve"):
        wire.charts.recording("absent")


@pytest.mark.fault
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("axis", "zz"),
        ("smoothing", -1),
        ("smoothing", 10**400),
        ("window", [float("nan"), 1]),
        ("window", [-1e308, 1e308]),
        ("scales", {"loss": "cubic"}),
        ("scales", {"loss": []}),
    ],
)
def test_an_option_that_a_browser_may_not_set_is_given_back(
    wire: Wire, name: str, value: object
) -> None:
    before = getattr(wire.charts, name)
    with pytest.raises(TraitError):
        wire.charts.set_state({name: value})
    assert getattr(wire.charts, name) == before


def test_live_charts_draw_every_engine_as_the_table_of_engines_says() -> None:
    charts = Charts()
    charts.reset([*engine_table()])
    drawn = {
        curve["key"]: {name: curve[name] for name in ("color", "dark_color", "dash")}
        for curve in charts.curves
    }
    assert drawn == {
        name: {"color": info.color, "dark_color": info.dark_color, "dash": [*info.dash]}
        for name, info in engine_table().items()
    }


def test_runs_of_one_engine_differ_by_colour_and_dash() -> None:
    charts = Charts()
    keys = [f"run-{number}" for number in range(9)]
    charts.reset(keys, engines=dict.fromkeys(keys, "pytorch"))
    assert len({curve["color"] for curve in charts.curves}) == len(keys)
    assert len({tuple(curve["dash"]) for curve in charts.curves}) == len(keys)


def test_the_memory_of_each_process_is_sent_where_several_train(wire: Wire) -> None:
    nan = np.nan
    ranks = (np.array([nan, 40e6, 41e6]), np.array([nan, 60e6, 61e6]))
    wire.charts.add("pytorch", points(1, 3, rank_rss_bytes=ranks))
    wire.charts.add("ondevice", points(1, 3))
    wire.charts.flush()
    [(message, buffers)] = wire.sent
    assert [part["ranks"] for part in message["parts"]] == [2, 0]
    assert buffers[2].reshape(3, -1).tolist() == [[2, 3], [40, 41], [60, 61]]
    assert buffers[5].size == 0
    wire.charts.add("pytorch", points(2, 0, restored_step=2))
    assert wire.sent[1][1][2].reshape(3, -1).tolist() == [[2], [40], [60]]
