"""Checks of a page by axe-core and by the keyboard."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

FRONT_END = Path(__file__).resolve().parents[2] / "extensions" / "widgets"

FOCUSED = """() => {
  const at = document.activeElement;
  const style = getComputedStyle(at);
  const { width, height } = at.getBoundingClientRect();
  const name = at.getAttribute("aria-label") || at.labels?.[0]?.textContent || at.textContent;
  return {
    inside: at.closest(".wb, .wb-page") !== null,
    what: `${at.tagName} ${name.trim().slice(0, 40)}`,
    // A list that keeps the focus shows it at the row that is meant.
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
    seen: width > 0 && height > 0 && style.visibility === "visible",
    top: at.closest(".wb-top") !== null,
  };
}"""


def axe_source() -> str:
    """The source of axe-core, as package-lock.json pins it."""
    spec = importlib.util.spec_from_file_location("front_end_build", FRONT_END / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    build.install()
    return (FRONT_END / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Page, within: str = ".wb-page") -> list[str]:
    """Serious and critical violations within the elements of a selector, a line each."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(axe_source())
    found: dict[str, Any] = page.evaluate(
        "within => axe.run({ include: [within] }, { resultTypes: ['violations'] })", within
    )
    return [
        f"{each['impact']} {each['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for each in found["violations"]
        for node in each["nodes"]
        if each["impact"] in ("serious", "critical")
    ]


def tab_stops(page: Page, limit: int = 120) -> list[dict[str, Any]]:
    """Where the Tab key leads from the element that has the focus, until it leaves the widgets."""
    stops: list[dict[str, Any]] = []
    while len(stops) < limit:
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if not stop["inside"]:
            return stops
        stops.append(stop)
    raise AssertionError(f"{limit} stops and no end: {[stop['what'] for stop in stops[-9:]]}")
