"""The largest batch that fits into a memory, as `Artifacts.largest_batch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.artifacts.footprint.predict import LARGEST_BATCH
from workbench.controller.call_text import call_text
from workbench.controller.forms.setting_fields import YES, SettingField
from workbench.controller.setup import Setup
from workbench.controller.tasks.task import Inputs, Report, Task, TaskResult
from workbench.run_folder.statistics import size_text

MEMORY_BYTES = 500_000_000


class LargestBatchTask(Task):
    """Predicted from the artifacts; nothing is trained."""

    name = "largest_batch"
    step = "artifacts"
    title = "Largest batch"
    explanation = (
        "Finds the largest batch size whose predicted memory fits into that of a device, with a "
        "margin of 15 %. Nothing is trained."
    )
    action = "Find"
    needs_artifacts = True
    fields = (
        SettingField(
            "memory_bytes",
            "Memory",
            "in addition to the 50 MB of a Python process",
            "bytes",
            "500 MB",
            positive=True,
        ),
        SettingField("evaluate", "Evaluate as well", "", "switch", YES),
    )

    def run(self, inputs: Inputs, report: Report) -> TaskResult:
        options = _options(inputs.setup, inputs.values)
        report("predicting the memory of batches")
        found = inputs.generated().largest_batch(**options)
        memory = size_text(options["memory_bytes"])
        if not found:
            return TaskResult(f"Not even the smallest batch fits into {memory}.", good=False)
        if found == LARGEST_BATCH:
            sentence = f"A batch of {found:,} rows fits into {memory}; no larger is tried."
        else:
            sentence = f"The largest batch that fits into {memory} has {found:,} rows."
        rows = _training_rows(inputs)
        if rows is not None and rows < found:
            sentence += f" The training split has {rows:,}."
            found = rows
        offer = f"Use batch size {found:,}"
        return TaskResult(sentence, offer=offer, settings={"batch_size": found})

    def code(
        self,
        setup: Setup,
        values: Mapping[str, Any],
        given: Sequence[str],  # noqa: ARG002
    ) -> list[str]:
        return [call_text("artifacts.largest_batch", [], _options(setup, values))]


def _training_rows(inputs: Inputs) -> int | None:
    """Rows of the training split; None: no dataset is chosen."""
    if not inputs.setup.dataset and inputs.model().dataset is None:
        return None
    return len(inputs.load()[1].train)


def _options(setup: Setup, values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `largest_batch`: the fields, and whether the workbench's kernels train."""
    settings = setup.config_settings()
    own = {name: settings[name] for name in ("device_kernels",) if name in settings}
    return {"memory_bytes": MEMORY_BYTES, **values, **own}
