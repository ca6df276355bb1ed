"""Loads the model and the dataset that a setup names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.controller.model.module_stamp import ModuleStamp, stamp_of
from workbench.controller.model.namespace import (
    Kind,
    is_arrays,
    is_dataset,
    is_model,
    is_module,
    look,
    own_names,
)
from workbench.controller.model.target_names import has_target_field, targets_to_choose
from workbench.data import Dataset
from workbench.errors import (
    DataError,
    ExampleInputsError,
    ExampleInputsMissingError,
    ModelError,
    nearest,
    value_text,
)
from workbench.files.user_path import user_path
from workbench.load import load_dataset, load_model
from workbench.models import Model

COMPLETED = 30
"""Largest number of offered files."""

NAME_EXAMPLE = (
    "name an example input, an array or tensor whose first axis is the batch, in the field "
    "Example input."
)

NEEDS_EXAMPLE = "needs an example input"
"""The state of a module that was chosen and has none yet, which is no error."""


class ExampleProblem(str):
    """A problem of the model that is one of its example inputs."""

    __slots__ = ()


class LossProblem(str):
    """A problem of the data that is one of the chosen loss, whose field is in Train."""

    __slots__ = ()


def lacks_example(problem: str) -> bool:
    """Whether this problem of a model is that its example input is still to be named."""
    return problem.endswith(NAME_EXAMPLE)


def takes_examples(source: str, value: object) -> bool:
    """Whether loading a model needs example inputs.

    Args:
        source: see `Sources.model`.
        value: object of the notebook's name `source`, if there is one.
    """
    return is_module(value) or ":" in source


class Sources:
    """Samples, files, factories and the names of the notebook."""

    def __init__(self, names: Callable[[], Mapping[str, Any]] = own_names) -> None:
        self.names = names
        self.examples_have_field = True
        """Whether a problem names the field Example input, or the argument of `load_model`."""

    def model(self, source: str, example_inputs: str = "") -> Model:
        """Load what `source` names.

        Args:
            source: a sample, a path, a factory, or a name of the notebook.
            example_inputs: names of the notebook's arrays that a module is called with, separated
                by commas; empty: none. Ignored for samples and files, which take none.

        Raises:
            ExampleInputsError: the example inputs are missing, or do not fit.
            ModelError: there is none, or it cannot be loaded.
        """
        names = self.names()
        value = names.get(source) if source.isidentifier() else None
        if is_model(value):
            return value
        if not takes_examples(source, value):
            try:
                return load_model(source)
            except ModelError as error:
                if value is None and (own := self._own_names(source, "model")):
                    raise ModelError(f"{error} {own}") from error
                if value is None:
                    raise
            raise ModelError(_no_module(source, value))
        examples = tuple(
            _named(names, each, ExampleInputsError) for each in example_names(example_inputs)
        )
        given: Any = (examples[0] if len(examples) == 1 else examples) if examples else None
        if is_module(value):
            if given is None:
                raise ExampleInputsMissingError(
                    f"{source} is a module of the notebook: {self._remedy(source)}"
                )
            return load_model(value, example_inputs=given, name=source)  # type: ignore[arg-type]
        try:
            return load_model(source, example_inputs=given)
        except ExampleInputsMissingError as error:
            raise ExampleInputsMissingError(
                f"{source} returns a module: {self._remedy(repr(source))}"
            ) from error

    def stamp(self, source: str) -> ModuleStamp | None:
        """That of the notebook's module that `source` names; None: it names none."""
        return stamp_of(self.names().get(source)) if source.isidentifier() else None

    def identities(self, *texts: str) -> tuple[int, ...]:
        """Which objects of the notebook the names in `texts` are of, as numbers to compare."""
        names = self.names()
        return tuple(id(names.get(each)) for text in texts for each in split_names(text))

    def _own_names(self, source: str, *kinds: Kind) -> str:
        """The names of the notebook that are of these kinds, and that one can be made, in
        sentences, or the names in `source`, which was refused, with commas; empty if it is no
        mistyped name."""
        words = source.split()
        if "array" in kinds and len(words) > 1 and self.names().keys() >= {*words}:
            return f"Did you mean '{', '.join(words)}'?"
        if not source.isidentifier():
            return ""
        found = [each.name for each in look(self.names()) if each.kind in kinds]
        known = f"In the notebook: {', '.join(found)}. " if found else ""
        return f"{known}A {kinds[0]} of that name can also be made in a cell."

    def _remedy(self, source: str) -> str:
        if self.examples_have_field:
            return NAME_EXAMPLE
        return f"give wb.load_model({source}, example_inputs=x) in its place."

    def dataset(
        self, source: str, model: Model | None, target: str = "", groups: str = ""
    ) -> Dataset:
        """Load what `source` names; empty: the dataset of the model.

        Args:
            source: a sample, a path, a name of the notebook, or two, of inputs and target.
            model: whose dataset is loaded where `source` is empty.
            target: name of the target where `source` is a .csv or .npz file.
            groups: name of the column with the group of each row in a .csv file; empty: none.

        Raises:
            DataError: there is none, or it cannot be loaded.
        """
        names = self.names()
        parts = split_names(source)
        if len(parts) > 1 and all(part.isidentifier() for part in parts):
            *inputs, target = (_named(names, part, DataError) for part in parts)
            with _told_of(parts):
                return load_dataset(tuple(inputs), target, name=", ".join(parts))
        value = names.get(source) if source.isidentifier() else None
        if is_dataset(value):
            return value
        if isinstance(value, tuple):
            raise DataError(f"{source} is a tuple: unpack it in a cell and give names, as in X, y.")
        if is_arrays(value):
            kind = "is a list" if isinstance(value, list) else "has no target of its own"
            raise DataError(
                f"{source} {kind}: give two names of the notebook, inputs and target, as in X, y."
            )
        if value is not None:
            with _told_of([source]):
                return load_dataset(value, name=source)
        if has_target_field(source):
            if not target and (offered := targets_to_choose(source)):
                raise DataError(
                    f"Choose the target of {source} in the field Target: it is one of "
                    f"{', '.join(offered)}."
                )
            return load_dataset(source, target or None, groups=groups or None)
        if source:
            try:
                return load_dataset(source)
            except DataError as error:
                if own := self._own_names(source, "dataset", "array"):
                    raise DataError(f"{error} {own}") from error
                raise
        if model is None:
            raise DataError("No dataset is chosen: pick a sample dataset, or type one.")
        if model.dataset is None:
            raise DataError(f"{model.name} has no dataset of its own: pick a sample, or type one.")
        return load_dataset(model)


def model_or_name(model: Any) -> Model | str:
    """The model in a form that a page can choose: a `Model`, or the name of the notebook's object.

    Raises:
        ModelError: it is an object without a name; the message has a remedy.
    """
    if isinstance(model, Model | str | Path):
        return model if isinstance(model, Model) else str(model)
    names = (name for name, value in own_names().items() if value is model and name[:1] != "_")
    name = next(names, None)
    if name is not None:
        return name
    if is_module(model):
        raise ModelError(
            f"{type(model).__name__} has no name in this notebook, by which it could be chosen. "
            "Give wb.load_model(module, example_inputs=x)."
        )
    raise ModelError(
        f"{value_text(model)} is no model: give a Model, the name of a sample, an .onnx file or "
        "package.module:factory."
    )


def _no_module(name: str, value: object) -> str:
    """Error message for a name of the notebook whose object is not a module."""
    if isinstance(value, type):
        return f"{name} is a class of the notebook: make a module of it, as in net = {name}()."
    return (
        f"{name} is of type {type(value).__name__} in the notebook, which is no model: name an "
        "nn.Module, a sample or an .onnx file."
    )


def split_names(text: str) -> list[str]:
    """The comma-separated parts, stripped, without empty ones."""
    return [part.strip() for part in text.split(",") if part.strip()]


def example_names(text: str) -> list[str]:
    """The names of example inputs; a text of anything else whole, as it may have commas itself."""
    names = split_names(text)
    return names if all(name.isidentifier() for name in names) else [text.strip()]


@contextmanager
def _told_of(names: Sequence[str]) -> Iterator[None]:
    """Tell what is wrong with data of the notebook, and with arrays by their names; a single name
    is of a dataset, whose inputs have numbers alone."""
    inputs = dict(enumerate(names[:-1]))
    try:
        yield
    except DataError as error:
        name = lambda found: inputs.get(int(found[1]), found[0])  # noqa: E731
        told = re.sub(r"\b[Ii]nput (\d+)\b", name, str(error))
        raise DataError(f"{', '.join(names)}: {told}") from error


def complete(text: str, suffixes: tuple[str, ...]) -> list[str]:
    """Paths that begin with `text`: folders, with a slash at the end, and files of `suffixes`.

    For no text at all only files: the folders beside a notebook are many, and few are of data.
    """
    head, slash, last = text.rpartition("/")
    folder = user_path(head + slash) if slash else Path()
    try:
        entries = sorted(folder.iterdir())
    except (OSError, ValueError):  # of a NUL character
        return []
    found = []
    for entry in entries:
        if not entry.name.lower().startswith(last.lower()) or entry.name.startswith("."):
            continue
        if entry.suffix.lower() in suffixes:
            found.append(f"{head}{slash}{entry.name}")
        elif text and entry.is_dir():
            found.append(f"{head}{slash}{entry.name}/")
    return found[:COMPLETED]


def _named(names: Mapping[str, Any], name: str, error: type[Exception]) -> Any:
    if name not in names:
        known = [each.name for each in look(names) if each.kind != "model"]
        hint = (
            f"{nearest(name, known)} Or make it in a cell."
            if known
            else "Make an array or a tensor of that name in a cell."
        )
        if not name.isidentifier():
            hint = f"Only names are taken: make it in a cell, as in x = ..., and give x. {hint}"
        raise error(f"The notebook has no {value_text(name)}. {hint}")
    if isinstance(names[name], str | bytes | tuple | dict):
        kind = type(names[name]).__name__
        raise error(f"{name} is a {kind}: name an array or a tensor whose first axis is the batch.")
    return names[name]
