"""Resident set of each process of a run that several train."""

from __future__ import annotations

import numpy as np

LIMIT = 1024
"""Samples that are kept, at most; longer series are repeatedly thinned by half."""


class RankMemory:
    """Samples of all processes, in bounded memory."""

    def __init__(self, limit: int = LIMIT) -> None:
        """Create an empty series of at most `limit` samples."""
        self._limit = limit
        self._every = 1
        self._samples = np.empty((0, 0))
        """(1 + ranks, samples): the step and MB of each."""
        self._seen = 0

    def add(self, step: np.ndarray, rank_rss_bytes: tuple[np.ndarray, ...]) -> None:
        """Add steps that follow those before.

        Args:
            step: (steps,).
            rank_rss_bytes: of each process, (steps,); NaN where it was not measured.
        """
        if not rank_rss_bytes:
            return
        sizes = np.stack(rank_rss_bytes) / 1e6
        known = np.flatnonzero(np.isfinite(sizes).all(axis=0))
        if len(sizes) + 1 != len(self._samples):  # other processes: another run
            self._samples, self._seen, self._every = np.empty((len(sizes) + 1, 0)), 0, 1
        kept = known[(self._seen + np.arange(len(known))) % self._every == 0]
        self._seen += len(known)
        added = np.vstack([step[kept], sizes[:, kept]])
        self._samples = np.hstack([self._samples, added])
        while self._samples.shape[1] > self._limit:
            self._samples = self._samples[:, ::2]
            self._every *= 2

    def cut(self, step: int) -> None:
        """Remove samples after `step`."""
        if len(self._samples):
            self._samples = self._samples[:, self._samples[0] <= step]
            self._seen = self._samples.shape[1] * self._every

    @property
    def array(self) -> np.ndarray:
        """(1 + ranks, samples) float64: step, then MB of each process; (0, 0) of a single one."""
        return self._samples
