"""The buttons of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets

NAMES = ("Train", "Compare", "Pause", "Resume", "Stop")


class Controls(ipywidgets.Box):  # type: ignore[misc]
    """Train, Compare, Pause, Resume and Stop; only those that make sense now can be pressed."""

    def __init__(self, actions: Mapping[str, Callable[[], None]]) -> None:
        """Make the buttons.

        Args:
            actions: what each button does, by its name; must return at once.
        """
        self.buttons = {name: _button(name, actions[name]) for name in NAMES}
        super().__init__(children=[*self.buttons.values()])
        self.add_class("wb-buttons")
        self.show("idle")

    def show(self, status: str) -> None:
        """Fit the buttons to the status of the job; `idle` when there is none."""
        active = status in ("starting", "running", "paused")
        usable = {
            "Train": not active,
            "Compare": not active,
            "Pause": status == "running",
            "Resume": status == "paused",
            "Stop": active,
        }
        for name, button in self.buttons.items():
            button.disabled = not usable[name]


def _button(name: str, action: Callable[[], None]) -> ipywidgets.Button:
    button = ipywidgets.Button(description=name)
    button.add_class("wb-button")
    button.add_class(f"wb-{name.lower()}")

    def press(_: Any) -> None:
        action()

    button.on_click(press)
    return button
