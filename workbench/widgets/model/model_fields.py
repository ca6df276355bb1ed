"""The fields of the step Model, by which a model and its data are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from workbench.controller.model.sources import Sources, split_names
from workbench.controller.model.target_names import (
    csv_columns,
    has_target_field,
    is_csv,
    target_names,
    targets_to_choose,
)
from workbench.widgets.model import hints
from workbench.widgets.model.choice_field import ChoiceField
from workbench.widgets.model.options import (
    column_options,
    dataset_options,
    example_options,
    model_options,
    target_options,
)

What = Literal["model", "data"]


class _Named(NamedTuple):
    """What fields name."""

    texts: tuple[str, ...]
    objects: tuple[int, ...]
    """Those of the notebook, see `Sources.identities`."""


class ModelFields:
    """The five fields, of which `all` is the list."""

    def __init__(self, sources: Sources) -> None:
        """Create the fields, empty; they offer what `sources` finds."""
        self._sources = sources
        self._shown: dict[What, _Named] = {}
        """What the fields named when model or data were last shown."""
        self.model = ChoiceField(
            lambda text: model_options(sources, text),
            label="Model",
            list_label="Models",
            placeholder="Sample, name or path",
        )
        self.example_inputs = ChoiceField(
            lambda text: example_options(sources, text),
            label="Example input",
            list_label="Arrays of the notebook",
            placeholder="only for modules of the notebook",
            description=hints.OF_EXAMPLE_INPUTS,
        )
        self.dataset = ChoiceField(
            lambda text: dataset_options(sources, text),
            label="Dataset",
            list_label="Datasets",
            placeholder="that of the sample, or X, y",
            description="A sample, a file, or names of the notebook: inputs, then target",
        )
        self.target = ChoiceField(
            lambda _: target_options(self.dataset.value),
            label="Target",
            list_label="Columns or arrays of the file",
            placeholder="what to predict",
            description="All others are inputs, and must hold numbers",
        )
        self.groups = ChoiceField(
            lambda _: column_options(self.dataset.value),
            label="Group column",
            list_label="Columns of the file",
            placeholder="none",
            description="Optional: of federated clients, such as the user that a row is from",
        )
        self.of_data = [self.dataset, self.target, self.groups]
        self.all = [self.model, self.example_inputs, *self.of_data]
        self.show_columns()

    def chosen_data(self) -> tuple[str, str, str]:
        """Dataset, target and group column; empty where the dataset is of no file that has them."""
        source = self.dataset.value
        target = self.target.value if has_target_field(source) else ""
        return source, target, self.groups.value if is_csv(source) else ""

    def show_columns(self) -> None:
        """Show the fields of names in the file where there are some to choose."""
        source = self.dataset.value
        shown = {self.target: has_target_field(source), self.groups: is_csv(source)}
        for field, wanted in shown.items():
            field.layout.display = None if wanted else "none"
            field.look("")

    def empty_unknown_columns(self) -> None:
        """Empty the fields of names in the file that the file does not have."""
        source = self.dataset.value
        offered = {self.target: target_names(source), self.groups: csv_columns(source)}
        for field, names in offered.items():
            if not _names_in(field.value, names):
                field.value = ""

    def of_data_problem(self) -> ChoiceField | None:
        """The field to correct where the data are refused; None: those of the model are."""
        source = self.dataset.value
        if not source.strip():
            return None
        target, groups = self.target.value.strip(), self.groups.value.strip()
        if targets_to_choose(source) and not target:
            return self.target
        if target and (names := target_names(source)) and not _names_in(target, names):
            return self.target
        columns = csv_columns(source)
        wrong_groups = columns and groups and (groups == target or groups not in columns)
        return self.groups if wrong_groups else self.dataset

    def note_shown(self, what: What) -> None:
        """Remember with which objects of the notebook `what` is shown, or refused: those that were
        noted as it was chosen, as a cell may have assigned to the names since."""
        shown, now = self._shown.get(what), self._named(what)
        if shown is None or shown.texts != now.texts:
            self._shown[what] = now

    def note_chosen(self, what: What) -> None:
        """Remember with which objects of the notebook `what` is chosen again."""
        self._shown[what] = self._named(what)

    def has_changed(self, what: What) -> bool:
        """Whether a cell has assigned to a name of `what` since, and no other was chosen."""
        shown, now = self._shown.get(what), self._named(what)
        return shown is not None and shown.texts == now.texts and shown.objects != now.objects

    def _named(self, what: What) -> _Named:
        fields = [self.model, self.example_inputs] if what == "model" else [self.dataset]
        texts = tuple(field.value for field in fields)
        return _Named(texts, self._sources.identities(*texts))


def _names_in(target: str, names: Sequence[str]) -> bool:
    """Whether `target` is one of the names, or several separated by commas."""
    return target in names or all(part in names for part in split_names(target))
