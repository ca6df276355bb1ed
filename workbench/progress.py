"""A progress bar in notebooks; elsewhere nothing is displayed.

The command line has its own progress bars.
"""

from __future__ import annotations

import sys
from types import TracebackType


class ProgressBar:
    """Displays progress in the output of the waiting notebook cell.

    It is removed at the end, so that a saved notebook contains only results.
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
        """Show a short text without a number of steps."""
        self.show(0, 0, text)

    def show(self, done: int, total: int, text: str) -> None:
        """Show `done` of `total` steps and a short text."""
        if self._box is None:
            return
        self._bar.value = done / total if total else 0.0
        self._text.value = f"{text}, step {done:,} of {total:,}" if done else text


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which can display widgets."""
    # Without importing IPython.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
