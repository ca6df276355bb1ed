"""The class of static figures; apart, so that matplotlib is imported when one is drawn."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from workbench.figures.picture_data import picture_data


class NotebookFigure(Figure):
    """A figure that shows itself in a notebook without a plotting backend, with text for those who
    do not see it."""

    title_sentences: Sequence[str] = ()
    """The title before its sentences were wrapped; empty: as it is drawn."""

    caption_text: str = ""
    """The caption before its lines were wrapped."""

    @property
    def words(self) -> str:
        """Title, names of the charts, and caption, as plain text."""
        charts = [axes.get_title(loc="left") for axes in self.axes]
        title = "\n".join(self.title_sentences) or self.get_suptitle()
        parts = (title, ", ".join(filter(None, charts)), self.caption_text or self.get_supxlabel())
        lines = [line.strip() for part in parts for line in part.splitlines()]
        return ". ".join(line.removesuffix(".") for line in lines if line)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return picture_data(self._repr_png_(), self.words)
