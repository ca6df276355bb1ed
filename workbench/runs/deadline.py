"""The end of a wait with a time limit."""

from __future__ import annotations

import time

from workbench.errors import ConfigError, value_text


class Deadline:
    """Time limit of a wait of `timeout` seconds."""

    def __init__(self, timeout: float | None) -> None:
        """Start the clock.

        Args:
            timeout: in seconds; None: no limit.

        Raises:
            ConfigError: it is not a number of seconds.
        """
        number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        # Also refuses NaN, with which the wait would never end.
        if timeout is not None and not (number and timeout >= 0):
            raise ConfigError(
                [f"timeout={value_text(timeout)} must be a number of seconds, 0 or more, or None."]
            )
        self._end = None if timeout is None else time.monotonic() + timeout

    @property
    def passed(self) -> bool:
        return self._end is not None and time.monotonic() > self._end
