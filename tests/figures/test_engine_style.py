"""Lines of engines in static figures: the colours and dashes of the one table."""

from __future__ import annotations

import pytest

from workbench.errors import EngineError
from workbench.figures.engine_style import line_style
from workbench.figures.notebook_figure import NotebookFigure
from workbench.settings.engines import engine_table


@pytest.mark.parametrize("info", engine_table().values(), ids=lambda info: info.name)
def test_a_line_has_the_colour_and_the_dash_of_its_engine(info) -> None:  # type: ignore[no-untyped-def]
    [line] = NotebookFigure().subplots().plot([1, 2], [3, 4], **line_style(info.name), linewidth=1)
    assert line.get_color() == info.color
    _, dashes = line._dash_pattern  # type: ignore[attr-defined]
    assert [1.75 * length for length in dashes or ()] == pytest.approx([*info.dash])


def test_dashes_are_drawn_above_solid_lines() -> None:
    """Where the losses of two engines agree, the curves of both are seen."""
    assert line_style("ondevice")["zorder"] > line_style("pytorch")["zorder"]


def test_an_unknown_engine_has_no_style() -> None:
    with pytest.raises(EngineError, match="Did you mean 'ondevice'"):
        line_style("ondevise")
