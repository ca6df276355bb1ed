"""The settings as a user types them, shared by every form that shows some of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.controller.setting_texts import ReadSettings, read_texts, write_texts
from workbench.controller.setup import COMPARISON_STEPS, Setup


class TypedSettings:
    """Texts by name of the field, written into a `Setup` as they change.

    What was typed stays when another model is chosen; an empty field means that model's default.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._lock = threading.RLock()
        self._observers: list[Callable[[], None]] = []
        self.texts: dict[str, str] = {}
        self.defaults: dict[str, Any] = {}
        """Of the chosen model."""
        self.read: ReadSettings = read_texts({})

    def observe(self, callback: Callable[[], None]) -> None:
        """Have `callback` called after every change, on the thread that made it."""
        self._observers.append(callback)

    def type(self, name: str, text: str) -> None:
        """Take in what was typed into one field; empty: its default."""
        with self._lock:
            self._replace({**self.texts, name: text})

    def set(self, **settings: Any) -> None:
        """Give settings as `train` takes them; None means the default."""
        with self._lock:
            self._replace({**self.texts, **write_texts(settings)})

    def replace(self, settings: Mapping[str, Any]) -> None:
        """Forget what was typed and give `settings` instead."""
        with self._lock:
            self._replace(write_texts(settings))

    def set_defaults(self, defaults: Mapping[str, Any]) -> None:
        """Have a model's defaults apply where nothing was typed."""
        with self._lock:
            self.defaults = dict(defaults)
            self._replace(self.texts)

    def choose_engines(self, engines: Sequence[str]) -> None:
        """Check what was typed for other engines."""
        with self._lock:
            self._setup.engines = list(engines)
            self._replace(self.texts)

    def _replace(self, texts: Mapping[str, str]) -> None:
        typed = {name: text for name, text in texts.items() if text.strip()}
        # Both or none: what is shown is what a run is started with.
        self.texts, self.read = typed, read_texts(typed, self.defaults, self._setup.engines)
        further = self.read.further
        self._setup.settings = dict(self.read.settings)
        self._setup.base = further.get("base", "")
        self._setup.base_except = further.get("base_except", ())
        self._setup.detached = further.get("detached", False)
        self._setup.federation = further.get("federation")
        self._setup.comparison_steps = further.get("comparison_steps", COMPARISON_STEPS)
        self._setup.quiet_s = further.get("quiet_s", 0.0)
        for callback in self._observers:
            callback()
