"""A progress bar in notebooks; elsewhere nothing is displayed.

The command line has its own progress bars.
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any


class ProgressBar:
    """Displays progress in the output of the waiting notebook cell.

    It appears with the first text, as others may show the progress instead, and is removed at the
    end, so that a saved notebook contains only results. In threads, such as those of the app, it
    does not appear.
    """

    def __init__(self) -> None:
        self._box: Any = None

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
            # The notebook's file would keep the name of a widget that no longer exists.
            self._shown.update({"text/plain": ""}, raw=True)

    def show_text(self, text: str) -> None:
        """Show a short text without a number of steps."""
        self.show(0, 0, text)

    def show(self, done: int, total: int, text: str) -> None:
        """Show `done` of `total` steps and a short text."""
        # What another thread displays would appear in whichever cell was executed last.
        if not in_notebook() or threading.current_thread() is not threading.main_thread():
            return
        if self._box is None:
            self._display()
        self._bar.value = done / total if total else 0.0
        self._text.value = f"{text}, step {done:,} of {total:,}" if done else text

    def _display(self) -> None:
        import ipywidgets
        from IPython.display import display

        self._bar = ipywidgets.FloatProgress(min=0.0, max=1.0, bar_style="info")
        self._text = ipywidgets.Label()
        self._box = ipywidgets.HBox([self._bar, self._text])
        self._shown = display(self._box, display_id=True)  # type: ignore[no-untyped-call]


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which can display widgets."""
    # Without importing IPython.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
