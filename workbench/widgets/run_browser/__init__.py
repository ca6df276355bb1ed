"""All recorded runs: the list, and the run or comparison that is open."""

from __future__ import annotations

from workbench.widgets.run_browser.run_browser import RunBrowser

__all__ = ["RunBrowser"]
