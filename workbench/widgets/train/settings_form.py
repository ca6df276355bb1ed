"""The settings of a training, or of a comparison, as a form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from workbench.controller.forms.setting_fields import NO, FieldGroup, SettingField, field_groups
from workbench.controller.forms.setting_texts import FIELDS, applies
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.widgets.bundle import bundle
from workbench.widgets.train.form_field import form_field


class SettingsForm(anywidget.AnyWidget):
    """A field for each setting, validated while typing; an empty one means its default.

    A view of `TypedSettings`, which several forms may show.
    """

    _esm = bundle("settings_form.js")
    _css = bundle("settings_form.css")

    groups = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "title": traitlets.Unicode(),
                "folded": traitlets.Bool(),
                "fields": traitlets.List(form_field()),
            }
        )
    ).tag(sync=True)
    """One dict a heading, with a dict a setting; `default` is its effective value while it is
    empty."""
    texts = traitlets.Dict().tag(sync=True)
    """Typed texts, by name of the setting."""
    problems = traitlets.Dict().tag(sync=True)
    """Problem of each invalid setting, in a sentence, by its name."""
    note = traitlets.Unicode().tag(sync=True)
    """A sentence below the fields; empty: none."""

    def __init__(
        self,
        typed: TypedSettings,
        groups: Sequence[FieldGroup] | None = None,
        only: Collection[str] | None = None,
        note: Callable[[TypedSettings], str] = lambda _: "",
        **kwargs: Any,
    ) -> None:
        """Create the form.

        Args:
            typed: the settings to show and change.
            groups: the fields; None: all of a training, with the defaults of the model.
            only: names of the fields to show; None: all.
            note: returns the sentence below the fields.
        """
        super().__init__(**kwargs)
        self._typed = typed
        self._groups = groups
        self._only = only
        self._note = note
        self.on_msg(self._on_message)
        typed.observe(self._show)
        self._show()

    def _show(self) -> None:
        groups = field_groups(self._typed.defaults) if self._groups is None else self._groups
        with self.hold_sync():
            self.groups = [
                {
                    "title": group.title,
                    "folded": group.folded,
                    "fields": [
                        _record(field, self._typed.texts, self._typed.problems) for field in fields
                    ],
                }
                for group in groups
                if (fields := [each for each in group.fields if self._shows(each.name)])
            ]
            self.texts = dict(self._typed.texts)
            self.problems = self._typed.problems
            self.note = self._note(self._typed)

    def _shows(self, name: str) -> bool:
        return self._only is None or name in self._only

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        """Typing comes as messages, one after another: a trait would skip some of them, and Train
        could overtake the last."""
        match content:
            case {"kind": "type", "name": str(name), "text": str(text)}:
                self._typed.type(name, text)


def _record(
    field: SettingField, texts: Mapping[str, str], problems: Collection[str]
) -> dict[str, Any]:
    record = {**field._asdict(), "choices": list(field.choices)}
    record["remark"] = _remark(field.name, texts, problems) if texts.get(field.name) else ""
    return record


def _remark(name: str, texts: Mapping[str, str], problems: Collection[str]) -> str:
    """Why a text that is typed has no effect, or what it needs, in a sentence; empty: nothing."""
    if not applies(name, texts):
        return f"Not used while {FIELDS[name.partition('.')[0]].label} is {NO}."
    if name == "epochs" and texts.get("steps") and not {"steps", "epochs"} & {*problems}:
        return f"Not used: {FIELDS['steps'].label} are given."
    if name == "loss" and texts["loss"] == "nll":
        return "For log-probabilities, as of LogSoftmax; for other outputs choose cross_entropy."
    return ""
