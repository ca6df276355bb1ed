"""Estimates the remaining time of work from its recent speed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW_S = 20.0
"""Window of the speed in seconds: longer is steadier, shorter adapts sooner."""
FIRST_S = 3.0
"""Seconds to measure before a remaining time is shown."""
FEW_S, FEW_SHARE = 10.0, 0.05
"""So many seconds where less than this share was done: the first steps of a run are slower."""

FASTER = 1.5
"""Ratio of the speeds of the later half of the window and the whole above which only the later
half counts."""


class Pace:
    """Estimates the remaining time from the share of the work done at each update."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, float]] = deque()

    def left_s(self, share: float) -> float:
        """Seconds to the end, given the share done, 0 to 1; -1 while that is not known.

        It is not called while work is paused: a gap of more than `WINDOW_S` restarts the window.
        """
        now = self._clock()
        if self._seen and now - self._seen[-1][0] > WINDOW_S:
            self._seen.clear()
        self._seen.append((now, share))
        while now - self._seen[0][0] > WINDOW_S:
            self._seen.popleft()
        began, before = self._seen[0]
        needed_s = FEW_S if share - before < FEW_SHARE else FIRST_S
        if now - began < needed_s or share <= before:
            return -1.0
        rate = (share - before) / (now - began)
        # Slow first steps say nothing of the rest.
        since, at_half = next(seen for seen in self._seen if now - seen[0] <= (now - began) / 2)
        of_late = (share - at_half) / (now - since) if now > since else 0.0
        return (1.0 - share) / (of_late if of_late > FASTER * rate else rate)
