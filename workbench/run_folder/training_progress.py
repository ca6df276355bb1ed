"""The progress of a training, as saved in a checkpoint."""

from __future__ import annotations

import math

from pydantic import BaseModel, ConfigDict, Field

from workbench.run_folder.statistics import Count


class TrainingProgress(BaseModel):
    """State of the training loop after `step` steps, from which it continues."""

    model_config = ConfigDict(extra="forbid", strict=True)

    step: Count = 0
    """Completed optimizer steps."""
    evaluated_step: Count = 0
    """The step after which the test split was last evaluated."""
    best_loss: float | None = Field(default=None, allow_inf_nan=False)
    """The lowest test loss so far; None before the first."""
    best_step: Count = 0
    """The step after which it was found."""
    evaluations_since: Count = 0
    """Number of evaluations since then."""

    def add_evaluation(self, loss: float) -> None:
        """Record the loss of the test split after the current step; may be NaN."""
        self.evaluated_step = self.step
        if math.isfinite(loss) and (self.best_loss is None or loss < self.best_loss):
            self.best_loss, self.best_step, self.evaluations_since = loss, self.step, 0
        else:
            self.evaluations_since += 1
