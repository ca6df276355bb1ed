"""The numbers on the axes of static figures."""

from __future__ import annotations

import itertools

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from workbench.figures.static_figure import caption, label, make_figure, step_text, value_text


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (0, "0"),
        (900, "900"),
        (2_500, "2,500"),
        (250_000, "250k"),
        (1_000_000, "1M"),
        (1_200_000, "1.2M"),
        (1_250_000, "1,250k"),
        (12_345_600, "12,345.6k"),
        (236_545, "236,545"),
    ],
)
def test_a_number_of_steps_is_short_and_exact(step: int, text: str) -> None:
    assert step_text(step) == text


@pytest.mark.parametrize("steps", [3, 88, 9_876, 700_000, 1_000_000])
def test_the_numbers_of_steps_do_not_overlap(steps: int) -> None:
    figure, panels = make_figure(3, "a run")
    for axes in panels:
        axes.plot([1, steps], [1.0, 2.0])
        label(axes, "Loss", "loss of the batch")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for axes in panels:
        low, high = axes.get_xlim()
        places = [at for at in axes.get_xticks() if low <= at <= high]
        texts = [each for each in axes.get_xticklabels() if low <= each.get_position()[0] <= high]
        assert len(texts) == len(places) > 1
        boxes = [each.get_window_extent(canvas.get_renderer()) for each in texts]
        assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
        assert axes.xaxis.get_offset_text().get_text() == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (200, "200"), (0, "0"), (35000, "35k"), (1_500_000, "1.5M"), (-2000, "-2k")],
)
def test_values_have_the_prefixes_of_the_page(value: float, text: str) -> None:
    assert value_text(value) == text


def test_a_long_caption_stays_within_the_figure() -> None:
    figure, _ = make_figure(1, "a run")
    sentence = "The machine was busy while model-with-a-long-name on ondevice was measured. " * 4
    caption(figure, f"{sentence}\nIt was measured.")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = figure._supxlabel.get_window_extent(canvas.get_renderer())
    assert 0 <= drawn.x0 < drawn.x1 <= figure.bbox.width
    assert figure.words.endswith(f"{sentence.strip().removesuffix('.')}. It was measured")
