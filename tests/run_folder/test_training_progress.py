"""The progress of a training: its lowest test loss, and how long ago that was."""

from __future__ import annotations

import math

from workbench.run_folder.training_progress import TrainingProgress


def test_the_lowest_loss_is_kept_with_its_step_and_the_steps_since() -> None:
    progress = TrainingProgress()
    found = []
    for step, loss in enumerate([math.nan, 2.0, 2.0, math.inf, 1.0, 1.5], 1):
        progress.step = step
        progress.add_evaluation(loss)
        assert progress.evaluated_step == step
        found.append((progress.best_loss, progress.best_step, progress.evaluations_since))
    assert found == [(None, 0, 1), (2.0, 2, 0), (2.0, 2, 1), (2.0, 2, 2), (1.0, 5, 0), (1.0, 5, 1)]
