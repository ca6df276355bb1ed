"""A progress bar for those who wait in a notebook; nothing anywhere else.

The command line draws its own bars with rich from the same figures.
"""

from __future__ import annotations

import sys
from types import TracebackType


class ProgressBar:
    """Shows how far something is, in the output of the notebook cell that waits for it.

    It vanishes when the wait is over, so that a saved notebook holds results only.
    """

    def __init__(self) -> None:
        self._box = None
        if not in_notebook():
            return
        import ipywidgets
        from IPython.display import display

        self._bar = ipywidgets.FloatProgress(min=0.0, max=1.0, bar_style="info")
        self._text = ipywidgets.Label("starting")
        self._box = ipywidgets.HBox([self._bar, self._text])
        display(self._box)  # type: ignore[no-untyped-call]

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._box is not None:
            self._box.close()

    def say(self, text: str) -> None:
        """Show what is going on, in a few words, where nothing can be counted."""
        self.show(0, 0, text)

    def show(self, done: int, total: int, text: str) -> None:
        """Show `done` of `total` steps and what is going on, in a few words."""
        if self._box is None:
            return
        self._bar.value = done / total if total else 0.0
        self._text.value = f"{text}, step {done:,} of {total:,}" if done else text


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook, which can show widgets."""
    # Asked without importing IPython, which no script needs.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
