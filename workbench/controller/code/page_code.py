"""The Python code equivalent to the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.controller.background.footprint_predictor import profile_settings
from workbench.controller.call_text import call_text
from workbench.controller.code.comparison_lines import DISPLAY, SHOWN
from workbench.controller.code.free_names import taken_names, with_free_names
from workbench.controller.forms.federation_fields import split_code
from workbench.controller.model.namespace import is_dataset, is_model, is_module, own_names
from workbench.controller.model.sources import example_names, split_names, takes_examples
from workbench.controller.model.target_names import has_target_field, is_csv
from workbench.controller.setup import Setup
from workbench.controller.tasks import TASKS
from workbench.settings.engines import ARTIFACTS_ENGINE

MODEL_SOURCE, DATA_SOURCE = "_model_source_", "_data_source_"
"""In place of the expressions that load them, until the variables have their names."""


def code_for(setup: Setup, step: str, names: Mapping[str, Any] | None = None) -> str:
    """A program of public names equivalent to a step of the page.

    Args:
        setup: setup of the page.
        step: "model", "artifacts", "train" or "compare"; for the runs see `runs_code`.
        names: objects of the notebook, which code may name; None: the current ones.
    """
    own = own_names() if names is None else names
    lines = _tasks(setup, step, "first", [])
    if not setup.model:
        return _program([*lines, "# Choose a model first."])
    lines.append(f"model = {MODEL_SOURCE}")
    data = _data(setup, own)
    load_data = f"data = {DATA_SOURCE if data else 'wb.load_dataset(model)'}"
    given = ["model", "data"] if data else ["model"]
    if step == "model":
        lines += [
            'display(pd.DataFrame(model.layers()).set_index("name"))',
            "display(wb.check(model))",
        ]
    lacks_data = not data and not _brings_data(setup, own)
    match step:
        case _ if lacks_data:
            lines.append("# Choose a dataset first.")
        case "compare" if not setup.engines:
            lines.append("# Choose an engine first.")
        case "model":
            lines += [load_data, "display(data)"]
        case "artifacts":
            lines += [load_data, *_artifacts(setup)]
        case "train":
            lines += [load_data] if data else []
            lines += _tasks(setup, step, "before", given)
            lines += _training(setup, given)
        case "compare":
            lines += [load_data] if data else []
            settings = {"engines": list(setup.engines), **_compared(setup)}
            lines += [
                f"comparison = {call_text('wb.compare', given, settings)}",
                "comparison.wait()",
                *SHOWN,
            ]
    lines += _tasks(setup, step, "after", given, with_artifacts=not lacks_data)
    code = with_free_names(_program(lines), taken_names(own, _used_names(setup)))
    # What the notebook's names are in is filled in last: they are not renamed.
    return code.replace(MODEL_SOURCE, _model(setup, own)).replace(DATA_SOURCE, data)


def _used_names(setup: Setup) -> list[str]:
    """The names that the model and the data are loaded from."""
    texts = (setup.model, setup.dataset, setup.example_inputs)
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def _program(lines: list[str]) -> str:
    """The lines after the imports that they need."""
    imports = ["import workbench as wb", ""]
    # A cell shows the value of its last line only.
    if any("display(" in line for line in lines):
        imports = [DISPLAY, "", *imports]
    if any("pd." in line for line in lines):
        imports = ["import pandas as pd", *imports]
    return "\n".join([*imports, *lines]) + "\n"


def _artifacts(setup: Setup) -> list[str]:
    chosen = setup.artifact_settings()
    batch = setup.settings.get("batch_size", 'model.defaults.get("batch_size", 32)')
    own = {name: setup.settings[name] for name in ["device_kernels"] if name in setup.settings}
    lines = [
        f"artifacts = {call_text('wb.generate_artifacts', ['model', 'data=data'], chosen)}",
        f"display({call_text('artifacts.footprint', [f'batch_size={batch}'], own)})",
        "graph = wb.GraphView(artifacts)",
    ]
    if setup.profiled:
        call = call_text(
            "wb.profile", ["model", "data", f"engine={ARTIFACTS_ENGINE!r}"], profile_settings(setup)
        )
        lines += [f"profile = {call}", "graph.paint(profile)"]
    return [*lines, "display(graph)"]


def _tasks(
    setup: Setup, step: str, place: str, given: list[str], *, with_artifacts: bool = True
) -> list[str]:
    """The code of the tasks whose sections are open."""
    return [
        line
        for task in TASKS
        if task.step == step and task.place == place and task.name in setup.tasks
        if with_artifacts or not task.needs_artifacts
        for line in task.code(setup, setup.tasks[task.name], given)
    ]


def _training(setup: Setup, given: list[str]) -> list[str]:
    if setup.federation is not None:
        options = {n: each for n, each in setup.federation.items() if n not in ("split", "alpha")}
        split = split_code(setup.federation)
        given = [*given, f"split={split}"] if split else given
        call = call_text("wb.federate", given, {**options, **setup.clients_settings()})
        return [f"run = {call}", "run.wait()", "run.plot()"]
    settings = setup.training_settings()
    engines = list(setup.engines)
    if not engines:
        return ["# Choose an engine first."]
    if len(engines) == 1:
        call = call_text("wb.train", given, {"engine": engines[0], **settings})
        return [f"run = {call}", "run.wait()", "run.plot()"]
    call = call_text("wb.train", [*given, "engine=engine"], settings, indent=4)
    return [
        f"for engine in {engines!r}:",
        f"    run = {call}",
        "    run.wait()",
        "    display(run.plot())",
    ]


def _compared(setup: Setup) -> dict[str, Any]:
    found = setup.comparison_settings()
    if not found["quiet_s"]:
        del found["quiet_s"]
    return found


def _model(setup: Setup, names: Mapping[str, Any]) -> str:
    """An expression for the model."""
    if setup.model in names and setup.model.isidentifier():
        if is_model(names[setup.model]):
            return setup.model
        source, further = setup.model, [f"name={setup.model!r}"]
    else:
        source, further = repr(setup.model), []
    wanted = takes_examples(setup.model, names.get(setup.model))
    # Others are no names of the notebook, which the field says.
    examples = [
        name for name in example_names(setup.example_inputs) if wanted and name.isidentifier()
    ]
    if examples:
        given = examples[0] if len(examples) == 1 else f"({', '.join(examples)})"
        further = [f"example_inputs={given}", *further]
    return f"wb.load_model({', '.join([source, *further])})"


def _brings_data(setup: Setup, names: Mapping[str, Any]) -> bool:
    """Whether the model has a dataset of its own, as a sample has."""
    value = names.get(setup.model)
    if is_model(value):
        return value.dataset is not None
    return not (is_module(value) or ":" in setup.model or setup.model.endswith(".onnx"))


def _data(setup: Setup, names: Mapping[str, Any]) -> str:
    """An expression for the dataset; empty: that of the model."""
    if not setup.dataset:
        return ""
    parts = split_names(setup.dataset)
    if len(parts) > 1 and all(part.isidentifier() for part in parts):
        *inputs, target = parts
        given = f"({', '.join(inputs)},)" if len(inputs) > 1 else f"({inputs[0]},)"
        return f"wb.load_dataset({given}, {target}, name={', '.join(parts)!r})"
    if setup.dataset in names and setup.dataset.isidentifier():
        if is_dataset(names[setup.dataset]):
            return setup.dataset
        return f"wb.load_dataset({setup.dataset}, name={setup.dataset!r})"
    columns = ""
    if has_target_field(setup.dataset):
        columns += f", {setup.target!r}" if setup.target else ""
    if is_csv(setup.dataset):
        columns += f", groups={setup.groups!r}" if setup.groups else ""
    return f"wb.load_dataset({setup.dataset!r}{columns})"
