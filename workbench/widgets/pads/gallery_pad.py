"""A pad of labelled examples that are shown as a gallery."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import traitlets

from workbench.errors import DataError
from workbench.personalisation import Example, Examples, Personalisation
from workbench.runs import Run
from workbench.widgets.pads.held_out_score import as_text, score
from workbench.widgets.pads.latest_request_thread import LatestRequestThread
from workbench.widgets.pads.pad import Action, Pad

CLASSES = ("A", "B", "C")


def rows(**members: traitlets.TraitType[Any, Any]) -> Any:
    """A trait of the front end that lists dicts of these members."""
    return traitlets.List(traitlets.Dict(per_key_traits=members)).tag(sync=True)


class GalleryPad(Pad):
    """Examples by class, results before and after, and what a new one is recognised as."""

    classes = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Names of the classes, in the order shown."""
    items = rows(id=traitlets.Int(), label=traitlets.Unicode())
    """One dict an example, oldest first."""
    thumbnails = traitlets.Bytes().tag(sync=True)
    """One picture an example: (height, width), uint8, 0 is paper."""
    thumbnail_size = traitlets.List(traitlets.Int()).tag(sync=True)
    """Width and height of a thumbnail, in pixels."""
    can_undo = traitlets.Bool(False).tag(sync=True)
    """Whether a change of the examples can be undone."""
    results = rows(
        title=traitlets.Unicode(),
        right=traitlets.Int(),
        total=traitlets.Int(),
        columns=traitlets.List(traitlets.Unicode()),
        confusion=traitlets.List(traitlets.List(traitlets.Int())),
    )
    """Before and after. `confusion` counts held-out examples by class and by what they were taken
    for, one of `columns`."""
    result_classes = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """The rows of `confusion`."""
    held_out = rows(
        label=traitlets.Unicode(), before=traitlets.Unicode(), after=traitlets.Unicode()
    )
    """The examples that were not trained with, and what both models take them for."""
    held_out_thumbnails = traitlets.Bytes().tag(sync=True)
    recognised = rows(name=traitlets.Unicode(), probability=traitlets.Float())
    """Predictions for the last input tried; empty when there is none."""

    hint: ClassVar[str]
    """Shown first."""
    export_name: ClassVar[str]
    """Of the file that the button exports to."""
    thumbnail_shape: ClassVar[tuple[int, int]]
    """Height and width."""

    def __init__(
        self,
        classes: Iterable[str] = CLASSES,
        examples: Examples | str | Path | None = None,
        trained: Run | str | None = None,
        **settings: Any,
    ) -> None:
        """Make the pad.

        Args:
            classes: names of the first classes.
            examples: to begin with, or the path of a file that `save` wrote.
            trained: run of a pad, or its id, whose model is shown and can be tried; `wait` waits
                for that.
            **settings: of `personalise`, such as `model`, `engine`, `held_out` or `steps`.

        Raises:
            DataError: a class is no label, or the examples are of another kind.
        """
        if isinstance(examples, (str, Path)):
            examples = Examples.load(examples)
        if examples is None:
            examples = Examples(self.kind, classes)
        if examples.kind != self.kind:
            raise DataError(
                f"These are examples of kind {examples.kind!r}; a {type(self).__name__} takes "
                f"{self.kind!r}."
            )
        self.examples = examples
        """The displayed examples. Change them by methods of the pad, or call `refresh`
        afterwards."""
        self._shown_at_train: tuple[Example, ...] = ()
        self._thumbnails: dict[int, bytes] = {}
        self._tried = LatestRequestThread(
            f"workbench-{self.kind}-try", self._on_tried, self._on_try_error
        )
        super().__init__(
            settings,
            trained,
            message=self.hint,
            export_path=self.export_name,
            thumbnail_size=list(reversed(self.thumbnail_shape)),
        )
        self.refresh()

    def relabel(self, id: int, label: str) -> None:  # noqa: A002
        """Move the example `id` to the class `label`, which is made if there is none.

        Raises:
            DataError: there is no such example, or the label is none.
        """
        with self._lock:
            self.examples.relabel(id, label)
            self.refresh()

    def remove(self, id: int) -> None:  # noqa: A002
        """Remove the example `id`; `undo` restores it.

        Raises:
            DataError: there is no such example.
        """
        with self._lock:
            self.examples.remove(id)
            self.refresh()

    def undo(self) -> bool:
        """Undo the last change of examples or classes; returns whether there was one."""
        with self._lock:
            undone = self.examples.undo()
            self.refresh()
            return undone

    def add_class(self, label: str) -> None:
        """Add a class without an example.

        Raises:
            DataError: the label is none, or taken.
        """
        with self._lock:
            self.examples.add_class(label)
            self.refresh()

    def rename_class(self, label: str, name: str) -> None:
        """Give a class another name.

        Raises:
            DataError: there is no such class, or the name is none, or taken.
        """
        with self._lock:
            self.examples.rename_class(label, name)
            self.refresh()

    def remove_class(self, label: str) -> None:
        """Remove a class with its examples; `undo` brings them back.

        Raises:
            DataError: there is no such class.
        """
        with self._lock:
            self.examples.remove_class(label)
            self.refresh()

    def _collected(self) -> Examples:
        return self.examples

    def _extend(self, loaded: Examples) -> None:
        with self._lock:
            self.examples.extend(loaded)
            self.refresh()

    def refresh(self) -> None:
        """Show `examples` as they are now."""
        with self._lock, self.hold_sync():
            examples = self.examples
            self.classes = list(examples.classes)
            self.thumbnails = self._pictures(examples.items)
            self.items = [{"id": item.id, "label": item.label} for item in examples.items]
            self.can_undo = examples.can_undo

    def recognise(self, value: Any, rate: float | None = None) -> dict[str, float]:
        """The probability of each class for a new example, by the trained model.

        Args:
            value: see `Examples.add`.
            rate: of a recording, samples per second.

        Raises:
            DataError: the value is no example.
            RunError: nothing was trained yet.
        """
        return dict(self._trained().recognise(value, rate=rate).probabilities)

    def summary(self) -> str:
        """Both confusion matrices as text; empty while there are none."""
        return "\n\n".join(as_text(each, self.result_classes) for each in self.results)

    def close(self) -> None:
        """Close the pad with its threads and its trained model; a training is stopped."""
        if hasattr(self, "_tried"):
            self._tried.close()
        super().close()

    @abstractmethod
    def _thumbnail(self, value: np.ndarray) -> np.ndarray:
        """The picture of an example's value: `thumbnail_shape`, uint8, 0 is paper."""

    def _pictures(self, items: Sequence[Example]) -> bytes:
        for item in items:
            if item.id not in self._thumbnails:
                assert isinstance(item.value, np.ndarray)
                self._thumbnails[item.id] = self._thumbnail(item.value).tobytes()
        return b"".join(self._thumbnails[item.id] for item in items)

    def _training_request(self) -> tuple[Examples, dict[str, Any]]:
        with self._lock:
            shown = self.examples
            self._shown_at_train = shown.items
            return Examples.of(shown.kind, shown.classes, shown.items), dict(self.settings())

    def _show_outcomes(self, result: Personalisation) -> None:
        before, after = result.before, result.after
        assert before is not None
        assert after is not None
        self.result_classes = list(after.classes)
        self.results = [score("Before", before), score("After", after)]
        items = [item for item in self._shown_at_train if item.id in after.predictions]
        self.held_out = [
            {
                "label": item.label,
                "before": before.predictions[item.id].label,
                "after": after.predictions[item.id].label,
            }
            for item in items
        ]
        self.held_out_thumbnails = self._pictures(items)
        self.recognised = []
        trained = len(self._shown_at_train) - len(items)
        note = f"{trained} were trained with, {len(items)} were held out."
        if not self._shown_at_train:  # a recorded run
            note = f"{len(after.predictions)} were held out."
        if not set(before.classes) & set(before.predicted_classes):
            count = len(before.predicted_classes)
            note += f" The base model only knows its own {count} classes, none of which is yours."
        self.result_note = note

    def _actions(self) -> dict[str, tuple[str, Action]]:
        of_examples: dict[str, Action] = {
            "relabel": lambda one: self.relabel(one.example_id(), one.text("label")),
            "remove": lambda one: self.remove(one.example_id()),
            "undo": lambda _: self.undo(),
            "add_class": lambda one: self.add_class(one.text("label")),
            "rename_class": lambda one: self.rename_class(one.text("label"), one.text("name")),
            "remove_class": lambda one: self.remove_class(one.text("label")),
        }
        shown = {name: ("examples", action) for name, action in of_examples.items()}
        return {**super()._actions(), **shown}

    def _try_value(self, value: Any, rate: float | None = None) -> None:
        """Have the model recognise `value`, unless a newer one comes before that begins."""
        self._tried.ask(lambda: self._show_recognised(value, rate))

    def _show_recognised(self, value: Any, rate: float | None) -> None:
        found = self.recognise(value, rate)
        self.recognised = [
            {"name": name, "probability": probability} for name, probability in found.items()
        ]

    def _on_tried(self) -> None:
        if self.problem_at == "try":
            self.problem = ""

    def _on_try_error(self, error: Exception) -> None:
        self._show_problem(error, "try")
