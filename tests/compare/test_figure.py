"""The figure of a comparison draws its ratios, and says what not to trust."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes

from tests.compare.test_known_records import PLAN, recorded
from tests.runs.written import steps, write_run
from workbench.compare import MARK, Comparison
from workbench.compare.lockstep import LockstepPlan
from workbench.machine.load import Load
from workbench.runs import Run

LOSSES = [1.0] * 62


@pytest.fixture
def runs() -> dict[str, Run]:
    """`ondevice` is twice as fast as `pytorch`."""
    return {
        "pytorch": recorded("pytorch", [0.5, 0.5, 0.5], LOSSES),
        "ondevice": recorded("ondevice", [0.125, 0.125, 0.5], LOSSES),
    }


def bars(axes: Axes) -> list[tuple[float, float]]:
    """Middle and length of each."""
    found = [(patch.get_y() + patch.get_height() / 2, patch.get_width()) for patch in axes.patches]  # type: ignore[attr-defined]
    assert all(0 < patch.get_height() < 1 for patch in axes.patches)  # type: ignore[attr-defined]
    return [(round(middle, 9), round(width, 9)) for middle, width in found]


def names(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def test_a_bar_is_a_ratio_with_its_interval(runs: dict[str, Run]) -> None:
    figure = Comparison("c", PLAN, ["pytorch", "ondevice"], runs=runs).plot()
    loss, throughput, memory, ratios = figure.axes
    assert bars(ratios) == [(0, 1.0), (1, 2.0)]
    *intervals, one = ratios.lines
    for row, (interval, ratio) in enumerate(zip(intervals, (1.0, 2.0), strict=True)):
        np.testing.assert_allclose(interval.get_xdata(), [ratio, ratio], rtol=1e-9)
        assert list(interval.get_ydata()) == [row, row]
    assert list(one.get_xdata()) == [1.0, 1.0]
    texts = [(text.get_position(), text.get_text().strip()) for text in ratios.texts]
    assert [text for _, text in texts] == ["1.00", "2.0"]
    np.testing.assert_allclose([place for place, _ in texts], [(1.0, 0), (2.0, 1)], rtol=1e-9)
    assert not any(text.get_clip_on() for text in ratios.texts)
    assert names(ratios) == ["pytorch", "ondevice"]
    low, high = ratios.get_ylim()
    assert low > high, "the first engine is on top"
    assert ratios.get_xlim()[1] > 2.1, "room for the number beside the longest bar"
    assert ratios.get_xlabel() == "throughput relative to pytorch, 95 % interval"
    assert ratios.get_title(loc="left") == "Speed"
    title, verdict = figure.get_suptitle().splitlines()
    assert title == "Comparison with pytorch"
    assert verdict.startswith("ondevice is 2.0 times as fast as pytorch (2.0 to 2.0); ")
    assert loss.get_legend() is not None
    assert [len(axes.lines) for axes in (loss, throughput, memory)] == [2, 2, 2]
    assert np.asarray(throughput.lines[0].get_xdata())[0] == 3, "the warm-up is left out"
    assert figure.get_supxlabel().startswith("model-pytorch on rows, batch 10")


def test_a_long_verdict_is_not_cut(runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = Comparison("c", PLAN, ["pytorch", "ondevice"], runs=runs)
    sentence = (
        "ondevice is 15.4 times as fast as pytorch (8.6 to 42.0), no difference seen between "
        "ortmodule and pytorch (0.75 to 2.5); the machine was busy (other programs used 1.0 of 2 "
        "cores): do not trust these ratios, compare again once it is quiet."
    )
    verdict = comparison.verdict()._replace(level="busy", sentence=sentence)
    monkeypatch.setattr(comparison, "verdict", lambda: verdict)
    figure = comparison.plot()
    figure.draw_without_rendering()
    [title] = [text for text in figure.texts if text.get_text().startswith("Comparison with")]
    assert " ".join(title.get_text().split()) == f"Comparison with pytorch {sentence}"
    box = title.get_window_extent()
    assert (box.x0 > 0, box.x1 < figure.bbox.width) == (True, True), f"{box.x0} to {box.x1}"


def test_few_rounds_have_a_bar_and_no_interval(runs: dict[str, Run]) -> None:
    comparison = Comparison("c", LockstepPlan(2, 12, 62), ["pytorch", "ondevice"], runs=runs)
    ratios = comparison.plot().axes[3]
    assert bars(ratios) == [(0, 1.0), (1, 2.0)]
    assert len(ratios.lines) == 1
    np.testing.assert_allclose([text.get_position() for text in ratios.texts], [(1, 0), (2, 1)])


def test_an_engine_without_a_ratio_keeps_its_row(runs: dict[str, Run]) -> None:
    engines = ["ortmodule", "ondevice", "pytorch"]
    short = write_run("ondevice", [steps(1, [0.5])], {"status": "stopped"}, engine="ondevice")
    comparison = Comparison(
        "c", PLAN, engines, runs={"ondevice": short, "pytorch": runs["pytorch"]}
    )
    ratios = comparison.plot().axes[3]
    assert names(ratios) == ["ondevice", "pytorch"]
    assert bars(ratios) == [(1, 1.0)]


def test_no_run_yet_gives_an_empty_figure() -> None:
    figure = Comparison("c", PLAN, ["pytorch", "ondevice"]).plot()
    assert figure.axes[0].get_legend() is None
    assert names(figure.axes[3]) == []
    assert figure.get_suptitle() == "Comparison with pytorch"


def test_a_single_engine_is_the_title(runs: dict[str, Run]) -> None:
    alone = Comparison("c", PLAN, ["ondevice"], runs={"ondevice": runs["ondevice"]})
    figure = alone.plot()
    assert figure.get_suptitle() == "ondevice"
    assert bars(figure.axes[3]) == []


def test_the_verdict_is_part_of_the_title(runs: dict[str, Run]) -> None:
    busy = Comparison("c", PLAN, ["pytorch", "ondevice"], [Load(10.0, 10.0, 2)], runs=runs)
    assert busy.warning
    title = busy.plot().get_suptitle()
    assert " ".join(title.split()) == f"Comparison with pytorch {busy.verdict().sentence}"
    assert title.startswith("Comparison with pytorch\n")


def test_pytorch_fallbacks_are_marked_and_explained(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = property(lambda _: {"ondevice": "PyTorch ran it."})
    monkeypatch.setattr(Comparison, "pytorch_fallbacks", said)
    figure = Comparison("c", PLAN, ["pytorch", "ondevice"], runs=runs).plot()
    assert names(figure.axes[3]) == ["pytorch", f"ondevice{MARK}"]
    assert figure.get_supxlabel().endswith(f"\n{MARK} ondevice: PyTorch ran it.")
