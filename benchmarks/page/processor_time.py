"""Processor time of a page: what other programs on the machine do not change."""

from __future__ import annotations

from playwright.sync_api import Page


class ProcessorTime:
    """Reads the clock of the process that renders `page`, all its threads together."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable")

    def seconds(self) -> float:
        """Seconds since the process began."""
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "ProcessTime"))
