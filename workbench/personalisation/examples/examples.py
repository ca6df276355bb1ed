"""A collection of a user's own labelled examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.data.spectrogram import RATE_HZ, spectrogram
from workbench.data.strokes import rasterise
from workbench.errors import DataError, nearest, value_text
from workbench.files.output_file import output_path
from workbench.personalisation.examples.example import (
    MOST,
    Example,
    Kind,
    check_kind,
    check_label,
    stored_value,
)
from workbench.personalisation.examples.examples_file import read_examples, write_examples

MOST_UNDONE = 100
"""Changes that can be undone, at most."""


class _State(NamedTuple):
    """State that a change replaces."""

    items: tuple[Example, ...]
    classes: tuple[str, ...]


class Examples:
    """Labelled examples of one kind, to be changed, saved and trained with.

    Not safe to change from several threads at once.

    Attributes:
        kind: "image", "audio" or "text".
    """

    def __init__(self, kind: Kind, classes: Iterable[str] = ()) -> None:
        """An empty collection.

        Args:
            kind: "image", "audio" or "text".
            classes: labels that are known before there is an example of them; further ones are
                added with their examples.

        Raises:
            DataError: the kind is unknown, or a label is invalid or there twice.
        """
        self.kind: Kind = check_kind(kind)
        if isinstance(classes, str) or not isinstance(classes, Iterable):
            raise DataError(
                f"classes={value_text(classes)}: give a list of labels, such as ['star', 'house']."
            )
        labels = tuple(check_label(label) for label in classes)
        if len(set(labels)) != len(labels):
            raise DataError(f"classes={labels!r}: each label must be there once.")
        self._state = _State((), labels)
        self._undone: list[_State] = []
        self._next_id = 1

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {label!r}" for label, count in self.counts().items())
        return f"Examples({self.kind!r}, {counts or 'empty'})"

    def __len__(self) -> int:
        return len(self._state.items)

    @property
    def items(self) -> tuple[Example, ...]:
        """The examples, oldest first."""
        return self._state.items

    @property
    def classes(self) -> tuple[str, ...]:
        """All labels, in the order in which they came, also those without an example."""
        return self._state.classes

    def counts(self) -> dict[str, int]:
        """Number of examples by label, in the order of `classes`."""
        labels = [item.label for item in self.items]
        return {label: labels.count(label) for label in self.classes}

    def add(self, value: Any, label: str | None = None, *, rate: float | None = None) -> int:
        """Add an example.

        Args:
            value: of an image: strokes, each a list of points (x, y) in 0..1, x to the right and y
                down; or an array (height, width) or (height, width, channels), uint8 or floats from
                0, paper, to 1, ink. Of audio: a recording, (samples,) or (samples, channels),
                floats from -1 to 1 or int16; or a tuple of it and its rate. Of text: a str.
            label: of at most 60 characters; of a text it may be omitted: then it is "text".
            rate: of audio, samples per second; None: 8,000, or that of the tuple.

        Returns:
            The id of the example.

        Raises:
            DataError: the value or the label is invalid; the collection is not changed.
        """
        if label is None and self.kind == "text":
            label = "text"
        text = check_label(label)
        if len(self) >= MOST:
            raise DataError(f"There are {MOST:,} examples; remove some before adding others.")
        item = Example(self._next_id, text, stored_value(self.kind, value, rate))
        self._change((*self.items, item), text)
        self._next_id += 1
        return item.id

    def relabel(self, id: int, label: str) -> None:  # noqa: A002
        """Give the example `id` another label.

        Raises:
            DataError: there is no such example, or the label is invalid.
        """
        text, old = check_label(label), self[id]
        new = Example(old.id, text, old.value)
        self._change(tuple(new if item is old else item for item in self.items), text)

    def remove(self, id: int) -> None:  # noqa: A002
        """Remove the example `id`. Its label stays in `classes`.

        Raises:
            DataError: there is no such example.
        """
        old = self[id]
        self._change(tuple(item for item in self.items if item is not old))

    def add_class(self, label: str) -> None:
        """Add a label without an example.

        Raises:
            DataError: it is invalid, or exists already.
        """
        text = self._new_label(label)
        self._change(self.items, text)

    def rename_class(self, label: str, name: str) -> None:
        """Give a label another name, in all its examples.

        Raises:
            DataError: there is no such label, or the name is invalid or taken.
        """
        old, new = self._known_label(label), self._new_label(name)
        items = (
            Example(item.id, new, item.value) if item.label == old else item for item in self.items
        )
        classes = tuple(new if each == old else each for each in self.classes)
        self._replace(_State(tuple(items), classes))

    def remove_class(self, label: str) -> None:
        """Remove a label with its examples.

        Raises:
            DataError: there is no such label.
        """
        old = self._known_label(label)
        items = tuple(item for item in self.items if item.label != old)
        self._replace(_State(items, tuple(each for each in self.classes if each != old)))

    def extend(self, other: Examples) -> None:
        """Add the examples and labels of another collection, as one change; ids are new.

        Raises:
            DataError: it is of another kind, or there would be too many.
        """
        if other.kind != self.kind:
            raise DataError(f"Examples of kind {other.kind!r} cannot be added to {self.kind!r}.")
        if len(self) + len(other) > MOST:
            raise DataError(f"{len(self) + len(other):,} examples are too many: at most {MOST:,}.")
        added = (
            Example(id, item.label, item.value)
            for id, item in enumerate(other.items, self._next_id)  # noqa: A001
        )
        items = (*self.items, *added)
        self._replace(_State(items, tuple(dict.fromkeys((*self.classes, *other.classes)))))
        self._next_id += len(other)

    @property
    def can_undo(self) -> bool:
        """Whether there is a change that `undo` would undo."""
        return bool(self._undone)

    def undo(self) -> bool:
        """Undo the last change of examples or labels; up to 100 one after another.

        Returns:
            Whether there was anything to undo.
        """
        if not self._undone:
            return False
        self._state = self._undone.pop()
        return True

    def __getitem__(self, id: int) -> Example:  # noqa: A002
        """The example `id`.

        Raises:
            DataError: there is no such example.
        """
        for item in self.items:
            if item.id == id:
                return item
        known = [str(item.id) for item in self.items]
        hint = nearest(str(id), known) if known else "The collection is empty."
        raise DataError(f"There is no example {value_text(id)}. {hint}")

    def save(self, path: str | Path) -> Path:
        """Write the collection to a .npz file, compressed; an existing file is replaced.

        Raises:
            DataError: it cannot be written, or the suffix is not .npz.
        """
        return write_examples(self.kind, self.classes, self.items, output_path(path, DataError))

    @classmethod
    def load(cls, path: str | Path) -> Examples:
        """Read what `save` wrote. The file is untrusted: nothing in it is unpickled or executed.

        Raises:
            DataError: it is missing, corrupt, or not a file of examples.
        """
        if not isinstance(path, str | Path):
            raise DataError(f"{value_text(path)} is not the path of a file: give a string.")
        return cls.of(*read_examples(Path(path)))

    @classmethod
    def of(cls, kind: Kind, classes: Sequence[str], items: Sequence[Example]) -> Examples:
        """A collection of these examples, whose ids are kept."""
        made = cls(kind, classes)
        made._state = _State(tuple(items), made.classes)
        made._next_id = max((item.id for item in items), default=0) + 1
        return made

    @staticmethod
    def rasterise(strokes: Sequence[Any]) -> np.ndarray:
        """The image of strokes as it is trained with: see `workbench.data.strokes.rasterise`."""
        return rasterise(strokes)

    @staticmethod
    def spectrogram(waveform: Any, rate: float = RATE_HZ) -> np.ndarray:
        """A recording as it is trained with: see `workbench.data.spectrogram.spectrogram`."""
        return spectrogram(waveform, rate)

    def _change(self, items: tuple[Example, ...], label: str | None = None) -> None:
        known = label is None or label in self.classes
        self._replace(_State(items, self.classes if known else (*self.classes, str(label))))

    def _replace(self, state: _State) -> None:
        self._undone = [*self._undone[-MOST_UNDONE + 1 :], self._state]
        self._state = state

    def _known_label(self, label: str) -> str:
        if label not in self.classes:
            raise DataError(
                f"There is no class {value_text(label)}. {nearest(str(label), self.classes)}"
            )
        return label

    def _new_label(self, label: str) -> str:
        text = check_label(label)
        if text in self.classes:
            raise DataError(f"There is a class {text!r} already; choose another name.")
        return text
