"""A task of a step, in a foldable section: its fields, its button, and its result."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from workbench.controller import Controller
from workbench.controller.tasks import TASKS
from workbench.controller.tasks.task import TaskState
from workbench.controller.view import View
from workbench.widgets.bundle import bundle
from workbench.widgets.train.form_field import form_field


class TaskSection(anywidget.AnyWidget):
    """One task; folded by default."""

    _esm = bundle("task_section.js")
    _css = bundle("task_section.css")

    title = traitlets.Unicode().tag(sync=True)
    explanation = traitlets.Unicode().tag(sync=True)
    action = traitlets.Unicode().tag(sync=True)
    """Text of the button; empty: there is none."""
    fields = traitlets.List(form_field()).tag(sync=True)
    """One dict a field, as in a `SettingsForm`."""
    texts = traitlets.Dict().tag(sync=True)
    """Typed texts, by name of the field."""
    problems = traitlets.Dict().tag(sync=True)
    """Problem of each invalid field, in a sentence, by its name."""
    opened = traitlets.Bool(False).tag(sync=True)
    """Whether it is unfolded."""
    applies = traitlets.Bool(True).tag(sync=True)
    """Whether it is shown."""
    refusal = traitlets.Unicode().tag(sync=True)
    """Why the button is disabled; empty if it is enabled."""
    about = traitlets.Unicode().tag(sync=True)
    """Description before it is started."""
    doing = traitlets.Unicode().tag(sync=True)
    """Current activity; empty while there is none."""
    problem = traitlets.Unicode().tag(sync=True)
    """Why it failed, in sentences."""
    sentences = traitlets.Unicode().tag(sync=True)
    """Its result; empty if there is none yet."""
    good = traitlets.Bool(True).tag(sync=True)
    """Whether the result is a success."""
    offer = traitlets.Unicode().tag(sync=True)
    """Text of a button that applies what the result suggests; empty: there is none."""
    outdated = traitlets.Bool(False).tag(sync=True)
    """Whether settings have changed since."""
    tables = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "caption": traitlets.Unicode(),
                "columns": traitlets.List(traitlets.Unicode()),
                "rows": traitlets.List(traitlets.List(traitlets.Unicode())),
            }
        )
    ).tag(sync=True)

    def __init__(self, controller: Controller, name: str, **kwargs: Any) -> None:
        """Create the section, folded.

        Args:
            controller: runs the task.
            name: of the task.
        """
        [task] = [each for each in TASKS if each.name == name]
        super().__init__(
            title=task.title,
            explanation=task.explanation,
            action=task.action,
            fields=[{**each._asdict(), "choices": list(each.choices)} for each in task.fields],
            **kwargs,
        )
        self._tasks, self._typed = controller.tasks, controller.typed
        self._name = name
        self.on_msg(self._on_message)
        self.observe(self._on_opened, "opened")
        self.show(self._tasks.state(name))
        controller.views.add(SectionView(self, name))

    def show(self, state: TaskState) -> None:
        """Show the task; callable from any thread."""
        result = state.result
        with self.hold_sync():
            self.texts, self.problems = dict(state.texts), dict(state.problems)
            self.applies, self.refusal, self.about = state.applies, state.refusal, state.about
            self.doing, self.problem = state.doing, state.problem
            self.sentences = "" if result is None else result.sentences
            self.good = result is None or result.good
            self.offer = "" if result is None else result.offer
            self.outdated = state.outdated
            self.tables = [] if result is None else [_record(each) for each in result.tables]

    def _on_opened(self, change: Any) -> None:
        self._tasks.open(self._name, change.new)

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        match content:
            case {"kind": "type", "name": str(field), "text": str(text)}:
                if field in {each["name"] for each in self.fields}:
                    self._tasks.type(self._name, field, text)
            case {"kind": "start"}:
                self._tasks.start(self._name)
            case {"kind": "cancel"}:
                self._tasks.cancel(self._name)
            case {"kind": "apply"}:
                result = self._tasks.state(self._name).result
                if result is not None:
                    self._typed.set(**result.settings)


class SectionView(View):
    """Shows one task in its section."""

    def __init__(self, section: TaskSection, name: str) -> None:
        self._section = section
        self._name = name

    def show_task(self, name: str, state: TaskState) -> None:
        if name == self._name:
            self._section.show(state)


def sections(controller: Controller, step: str) -> list[TaskSection]:
    """A section for each task of a step that has a button."""
    return [
        TaskSection(controller, task.name) for task in TASKS if task.step == step and task.action
    ]


def _record(table: Any) -> dict[str, Any]:
    return {
        "caption": table.caption,
        "columns": list(table.columns),
        "rows": [list(row) for row in table.rows],
    }
