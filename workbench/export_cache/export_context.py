"""What determines the exports of a process, by which they are cached."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from workbench.export_cache.cache import ExportCache
from workbench.export_cache.code_used import CodeUsed
from workbench.export_cache.key import export_key


class ExportContext(NamedTuple):
    """What determines the exports of a process that was started to train one saved model."""

    cache: ExportCache
    key: str
    """Digest of the saved model, the settings, the environment and the versions."""
    code: Callable[[], CodeUsed | str]
    """The user's code that ran so far, or a sentence that says why it is unknown."""
    seed: int | None = None
    """Of PyTorch's random numbers when the user's code is loaded; None: there is none."""

    def after_draws(self) -> ExportContext:
        """The same with another key for each seed: what was loaded has drawn random numbers."""
        return self._replace(key=export_key(self.key, {"seed": self.seed}))
