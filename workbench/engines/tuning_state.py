"""Changes made by tuning for a run, for the statistics of its engine."""

from __future__ import annotations

from workbench.run_folder.statistics import OptionState
from workbench.settings.config import TrainingConfig
from workbench.settings.kernel_variants import DEFAULT, TunedKernels


def tuning_state(config: TrainingConfig) -> OptionState:
    """The state of the setting `tuning`; "on" where it changed other settings."""
    tuning = config.tuning
    if isinstance(tuning, TunedKernels):
        changed = tuning.refined or tuning.variant not in (None, DEFAULT)
        state = "on" if changed else "off"
        return OptionState(option="tuning", state=state, reason=tuning.reason)
    nothing = "nothing was measured for such shapes; run `workbench tune`"
    return OptionState(option="tuning", state="off", reason="" if tuning == "off" else nothing)
