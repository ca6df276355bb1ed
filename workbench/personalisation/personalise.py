"""Starts the personalisation of a base model with a user's own examples."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from workbench.errors import ConfigError, DataError, nearest, value_text
from workbench.load.base_sample import BaseSample, base_samples
from workbench.personalisation.base_model import base_model
from workbench.personalisation.class_slots import ClassSlots
from workbench.personalisation.examples.example import Kind
from workbench.personalisation.examples.examples import Examples
from workbench.personalisation.personalisation import Personalisation
from workbench.personalisation.plan import PersonalisationPlan
from workbench.personalisation.text_windows import split_text, text_dataset
from workbench.personalisation.training_data import class_dataset, split_examples
from workbench.runs import Run
from workbench.runs import train as start_training
from workbench.settings.engines import DEFAULT_ENGINE, engine_info

DEFAULTS: dict[Kind, dict[str, Any]] = {
    "image": {"steps": 150, "batch_size": 32, "learning_rate": 1e-2},
    "audio": {"steps": 100, "batch_size": 32, "learning_rate": 1e-2},
    "text": {"steps": 120, "batch_size": 8, "learning_rate": 1e-3},
}
"""Settings of the run, by the kind of the examples: enough for a few classes and short texts."""

HELD_OUT = 0.4
"""Share of the examples of each label, of a text its end, that is not trained with."""
PROMPT_CHARACTERS = 24
"""Length of the default prompt, the beginning of the held-out text."""


def personalise(
    examples: Examples,
    model: str | None = None,
    *,
    engine: str = DEFAULT_ENGINE,
    train: Literal["head", "all"] = "head",
    held_out: float = HELD_OUT,
    augment: bool = True,
    seed: int = 0,
    prompt: str | None = None,
    base: Run | str | Path | None = None,
    **settings: Any,
) -> Personalisation:
    """Fine-tune a base model on a user's own examples; returns immediately.

    A share of the examples is held out: the base model and the trained one are compared on them.
    Training starts from the base checkpoint of the sample, and trains its last layer. The last
    layer has outputs for the base's classes and free ones for new labels.

    Args:
        examples: two or more of each of two or more labels; or texts, of which the last part is
            held out.
        model: a sample with a base checkpoint for this kind of examples; None: "sketch-cnn",
            "speech-commands" or "text-gpt".
        engine: see `wb.train`.
        train: "head": the last layer; "all": every parameter. With `lora=` or `requires_grad=`
            those decide.
        held_out: share of the examples of each label, at least one, that is not trained with; of
            each text its last part.
        augment: add varied copies to the training examples: images turned, scaled and moved a
            little, recordings at other speeds, moved and with noise. Held-out ones are never
            varied.
        seed: random seed of held-out examples, copies and the order of the batches.
        prompt: for texts: the text that both models continue; None: the beginning of the held-out
            part.
        base: other weights of this model to begin and compare with, as `wb.train` takes them, such
            as those of a run; None: the base checkpoint.
        **settings: fields of `TrainingConfig`, such as `steps`, `learning_rate` or `lora`.

    Raises:
        DataError: there are too few examples, or more labels than the model has outputs.
        ConfigError: a setting is wrong, or the model has no base checkpoint for these examples.
        EngineError: the engine is unknown.
        RunFolderError: the run folder cannot be written.
    """
    if not isinstance(examples, Examples):
        raise DataError(
            f"examples={value_text(examples)}: give an Examples; Examples.load(path) reads a file."
        )
    if train not in ("head", "all"):
        raise ConfigError([f"train={value_text(train)}: give 'head' or 'all'."])
    _check_options(seed, prompt, augment)
    plan = _plan(examples, model, held_out, augment, seed, prompt)
    chosen = {**DEFAULTS[examples.kind], "seed": seed, "engine": engine, **settings}
    head_alone = trains_head_alone({"train": train, **settings})
    if head_alone:
        chosen["requires_grad"] = plan.base.head
    if "batch_size" not in settings:
        chosen["batch_size"] = min(chosen["batch_size"], len(plan.data.train))
    from_graph = head_alone and engine_info(engine).trains_artifacts
    # The folder belongs to the result.
    folder = tempfile.TemporaryDirectory(prefix="workbench-")
    # Other weights may be of the module, which has buffers that the graph has not.
    from_graph = head_alone and engine_info(engine).trains_artifacts and base is None
    try:
        begun = base_model(plan.base, Path(folder.name), from_graph=from_graph)
        run = start_training(begun, plan.data, base=base, **chosen)
    except BaseException:
        folder.cleanup()
        raise
    assert run.model is not None
    return Personalisation(run, run.model, plan, folder)


def _check_options(seed: Any, prompt: Any, augment: Any) -> None:
    """Raise a ConfigError that names every option of a wrong type."""
    problems = []
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
        problems.append(f"seed={value_text(seed)}: give an integer from 0 to 2**32 - 1.")
    if not isinstance(prompt, str | None):
        problems.append(f"prompt={value_text(prompt)}: give a text, or None.")
    if not isinstance(augment, bool):
        problems.append(f"augment={value_text(augment)}: give True or False.")
    if problems:
        raise ConfigError(problems)


def trains_head_alone(settings: Mapping[str, Any]) -> bool:
    """Whether these settings of `personalise` train the last layer and nothing else."""
    return settings.get("train", "head") == "head" and not {"lora", "requires_grad"} & {*settings}


def chosen_base(kind: Kind, model: str | None) -> BaseSample:
    """The sample `model`, or the first one for examples of this kind.

    Raises:
        ConfigError: it has no base checkpoint for them.
    """
    known = {name: sample for name, sample in base_samples().items() if sample.kind == kind}
    name = next(iter(known), None) if model is None else model
    if name is None:
        raise ConfigError([f"No base checkpoint for examples of kind {kind!r} is installed."])
    if name not in known:
        raise ConfigError(
            [
                f"model={value_text(model)} has no base checkpoint for examples of kind {kind!r}. "
                f"{nearest(str(model), known)}"
            ]
        )
    return known[name]


def _plan(
    examples: Examples,
    model: str | None,
    held_out: float,
    augment: bool,
    seed: int,
    prompt: str | None,
) -> PersonalisationPlan:
    """The plan of the training and of the comparison."""
    kind = examples.kind
    base = chosen_base(kind, model)
    if kind == "text":
        context = int(base.input.shape[1])
        texts = [str(item.value) for item in examples.items]
        train, test = split_text(texts, held_out, context)
        data = text_dataset(train, test, base.classes, context)
        return PersonalisationPlan(
            base, data, prompt=test[:PROMPT_CHARACTERS] if prompt is None else prompt
        )
    parts = split_examples(examples, held_out, seed)
    labels = [label for label, count in examples.counts().items() if count]
    slots = ClassSlots.of(labels, base.classes, int(base.output.shape[1]))
    data = class_dataset(kind, parts, slots, seed, augment)
    return PersonalisationPlan(base, data, parts.held_out, slots)
