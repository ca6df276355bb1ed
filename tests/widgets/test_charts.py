"""What the charts send: only what is new, in binary, and everything when asked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.figures.engine_style import STYLES
from workbench.runs.reader import NewPoints
from workbench.widgets.charts import Charts, columns

TOKENS = Path(__file__).resolve().parents[2] / "extensions" / "widgets" / "src" / "tokens.css"


def points(first: int, count: int) -> NewPoints:
    """Steps from `first` whose loss is their number; the memory is sampled at the last."""
    step = np.arange(first, first + count)
    rss = np.full(count, np.nan)
    if count:
        rss[-1] = 100e6
    return NewPoints(
        step=step,
        epoch=np.ones(count, dtype=np.int64),
        loss=step.astype(np.float64),
        seconds=np.full(count, 0.5),
        samples=np.full(count, 32),
        rss_bytes=rss,
        events=[],
    )


class Wire:
    """Charts of two engines and what they sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.charts = Charts()
        self.sent: list[tuple[dict[str, Any], list[np.ndarray]]] = []
        monkeypatch.setattr(self.charts, "send", self.receive)
        self.charts.reset(["pytorch", "ondevice"], total_steps=10)
        self.sent.clear()

    def receive(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        blocks = [np.frombuffer(buffer, np.float32).reshape(4, -1) for buffer in buffers]
        self.sent.append((content, blocks))


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(monkeypatch)


def test_a_flush_sends_what_came_since_the_last_in_one_message(wire: Wire) -> None:
    wire.charts.add("pytorch", points(1, 3))
    wire.charts.add("pytorch", points(4, 2))
    wire.charts.add("ondevice", points(1, 1))
    wire.charts.flush()
    wire.charts.add("pytorch", points(6, 1))
    wire.charts.flush()
    (first, first_blocks), (second, second_blocks) = wire.sent
    assert first["parts"] == [
        {"engine": "pytorch", "start": 0, "count": 5},
        {"engine": "ondevice", "start": 0, "count": 1},
    ]
    assert not first["full"]
    assert first_blocks[0][0].tolist() == [1, 2, 3, 4, 5]
    assert second["parts"] == [{"engine": "pytorch", "start": 5, "count": 1}]
    assert second_blocks[0][1].tolist() == [6]


def test_nothing_new_sends_nothing(wire: Wire) -> None:
    wire.charts.flush()
    wire.charts.add("pytorch", points(1, 0))
    wire.charts.flush()
    assert wire.sent == []


def test_a_view_that_asks_gets_everything(wire: Wire) -> None:
    for first in (1, 4):
        wire.charts.add("pytorch", points(first, 3))
        wire.charts.flush()
    wire.sent.clear()
    wire.charts._handle_custom_msg({"kind": "sync"}, [])
    [(message, blocks)] = wire.sent
    assert message["full"]
    assert message["engines"] == ["pytorch", "ondevice"]
    assert [part["count"] for part in message["parts"]] == [6, 0]
    assert blocks[0][0].tolist() == [1, 2, 3, 4, 5, 6]


def test_a_reset_begins_a_new_generation(wire: Wire) -> None:
    wire.charts.add("pytorch", points(1, 3))
    wire.charts.flush()
    before = wire.sent[-1][0]["generation"]
    wire.charts.reset(["fake"], total_steps=7)
    message, _ = wire.sent[-1]
    assert message["generation"] > before
    assert message["full"]
    assert message["engines"] == ["fake"]
    assert wire.charts.points("fake").shape == (4, 0)
    assert wire.charts.total_steps == 7


def test_columns_are_step_loss_rate_and_megabytes() -> None:
    block = columns(points(1, 3))
    assert block.dtype == np.float32
    np.testing.assert_allclose(block, [[1, 2, 3], [1, 2, 3], [64, 64, 64], [100, 100, 100]])


def test_each_step_gets_the_memory_of_its_record() -> None:
    rss = np.array([np.nan, 10e6, np.nan, np.nan, 20e6, np.nan])
    some = points(1, 6)._replace(rss_bytes=rss)
    assert columns(some)[3].tolist() == [10, 10, 20, 20, 20, 20]
    unknown = points(1, 2)._replace(rss_bytes=np.array([np.nan, np.nan]))
    assert np.isnan(columns(unknown)[3]).all()


def test_live_charts_and_figures_share_their_colours() -> None:
    light = TOKENS.read_text(encoding="utf-8").partition('[data-jp-theme-light="false"]')[0]
    live = dict(re.findall(r"--wb-engine-([\w-]+): (#\w+);", light))
    live.pop("other")
    assert live == {engine: colour for engine, (colour, _) in STYLES.items()}
