"""A user's own examples, on which a base model is fine-tuned: by a pad, or as `wb.personalise`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.controller.call_text import call_text
from workbench.controller.forms.setting_fields import YES, SettingField
from workbench.controller.setup import Setup
from workbench.controller.tasks.task import NO_MODEL, Inputs, Report, Task, TaskResult
from workbench.load.base_sample import BaseSample, base_samples
from workbench.personalisation import prepare
from workbench.personalisation.examples.example import Kind
from workbench.personalisation.personalise import DEFAULTS, HELD_OUT
from workbench.settings.engines import DEFAULT_ENGINE, offered_engines

PADS: Mapping[Kind, str] = {"image": "SketchPad", "audio": "SoundPad", "text": "TextPad"}
"""Public name of the widget that makes examples of each kind."""
CALLED: Mapping[Kind, str] = {"image": "drawings", "audio": "recordings", "text": "texts"}


def chosen_base(setup: Setup) -> BaseSample | None:
    """The chosen model, if it comes with a base checkpoint to fine-tune."""
    return base_samples().get(setup.model)


def _by_kind(name: str) -> str:
    """The default of a setting that depends on the kind of the examples."""
    return ", ".join(f"{DEFAULTS[kind][name]:g} for {called}" for kind, called in CALLED.items())


def _try_code(setup: Setup, base: BaseSample) -> list[str]:
    """The model that the pad has trained, tried without training again."""
    run = setup.personalised.get(base.name)
    if run is None:
        return []
    made = call_text(f"wb.{PADS[base.kind]}", [], {"trained": run})
    return ["# The model of that pad, to try it without training again:", f"# pad = {made}"]


class OwnExamplesTask(Task):
    """Makes what the training of a pad needs, as soon as its section is open.

    The examples are made on the pad, which trains with the fields of this task.
    """

    name = "own_examples"
    step = "train"
    title = "Your own examples"
    explanation = (
        "Draw, record or type a few examples: the base checkpoint of the chosen model is "
        "fine-tuned on them, and both are compared on some that are held out. The settings of this "
        "section apply to that, and none of the others."
    )
    action = ""
    needs_model = False

    @property
    def fields(self) -> tuple[SettingField, ...]:
        """Its fields; the engines are those that are registered when it is asked."""
        return (
            SettingField("engine", "Engine", "", "choice", DEFAULT_ENGINE, offered_engines()),
            SettingField(
                "train",
                "Layers to train",
                "the last one, head, or all",
                "choice",
                "head",
                ("head", "all"),
            ),
            SettingField("steps", "Steps", _by_kind("steps"), "whole", "", positive=True),
            SettingField(
                "learning_rate",
                "Learning rate",
                _by_kind("learning_rate"),
                "number",
                "",
                positive=True,
            ),
            SettingField(
                "held_out", "Held out", "share of the examples", "number", f"{HELD_OUT:g}"
            ),
            SettingField("augment", "Augment", "varied copies of the examples", "switch", YES),
            SettingField("seed", "Random seed", "", "whole", "0"),
            SettingField(
                "base",
                "Initial weights",
                "a run of this model, .safetensors or .onnx file",
                "text",
                "base checkpoint",
            ),
        )

    def run(self, inputs: Inputs, report: Report) -> TaskResult:
        base = chosen_base(inputs.setup)
        if base is not None:
            report(f"preparing {base.name}")
            prepare(base.kind, base.name, **inputs.values)
        return TaskResult("")

    def code(
        self,
        setup: Setup,
        values: Mapping[str, Any],
        given: Sequence[str],  # noqa: ARG002
    ) -> list[str]:
        base = chosen_base(setup)
        if base is None:
            return []
        settings = {"model": base.name, **values}
        saved = f"wb.Examples.load('{base.kind}-examples.npz')"
        call = call_text("wb.personalise", [saved], settings).replace("\n", "\n# ")
        return [
            "",
            f"pad = {call_text(f'wb.{PADS[base.kind]}', [], settings)}",
            "pad",
            "# Without the pad, of examples that it has saved as a file:",
            f"# {call}",
            *_try_code(setup, base),
        ]

    def refusal(self, setup: Setup) -> str:
        if not setup.model:
            return NO_MODEL
        if chosen_base(setup) is not None:
            return ""
        known = [f"{name} for {CALLED[each.kind]}" for name, each in base_samples().items()]
        return (
            f"{setup.model} comes without a base checkpoint that could be fine-tuned on a few "
            f"examples. Choose {', '.join(known[:-1])} or {known[-1]} in the step Model."
        )
