"""A whole model, what it is fed, and the loss that it is verified with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from torch import nn


class Case(NamedTuple):
    """One model."""

    build: Callable[[], nn.Module]
    inputs: dict[str, np.ndarray]
    """By the names of the arguments of forward; the first axis is the batch."""
    loss: str = "cross_entropy"
    """cross_entropy: over the last axis of the first output; mse: against random values."""
