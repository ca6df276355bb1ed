"""The choice of trained parameters: a tree of check boxes, and patterns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from workbench.controller.forms.typed_settings import TypedSettings
from workbench.models import Model
from workbench.widgets.bundle import bundle


class ParameterTree(anywidget.AnyWidget):
    """A searchable tree of the parameters by scope; checked ones are trained, the others frozen.

    It sets `requires_grad`: unset while every parameter is trained, or with LoRA none beside its
    adapters.
    """

    _esm = bundle("parameter_tree.js")
    _css = bundle("parameter_tree.css")

    parameters = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "name": traitlets.Unicode(),
                "shape": traitlets.Unicode(),
                "count": traitlets.Int(),
            }
        )
    ).tag(sync=True)
    """One dict a parameter, with its number of elements."""
    patterns = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """`requires_grad`: names and fnmatch patterns of the trained parameters; empty: all, or none
    beside the adapters of LoRA."""
    adapters = traitlets.Bool(False).tag(sync=True)
    """Whether LoRA's adapters are trained, and parameters only beside them."""
    problem = traitlets.Unicode().tag(sync=True)
    """Problem of the patterns, in a sentence; may be empty."""
    hint = traitlets.Unicode("The parameters of the chosen model appear here.").tag(sync=True)

    def __init__(self, typed: TypedSettings, **kwargs: Any) -> None:
        """Create an empty tree.

        Args:
            typed: holds the patterns.
        """
        super().__init__(**kwargs)
        self._typed = typed
        typed.observe(self._show_patterns)
        self._show_patterns()
        self.on_msg(self._on_message)

    def show(self, model: Model | None, trainable: Mapping[str, tuple[int, ...]]) -> None:
        """Show the parameters of `model`; None: none."""
        self.parameters = [] if model is None else [_record(*each) for each in trainable.items()]

    def train_only(self, *patterns: str) -> None:
        """Train the parameters that match any of the patterns; without patterns: all, or with LoRA
        its adapters alone."""
        self._typed.type("requires_grad", ", ".join(patterns))

    def _show_patterns(self) -> None:
        chosen = self._typed.read.settings.get("requires_grad", ())
        with self.hold_sync():
            self.patterns = list(chosen)
            self.adapters = self._typed.read.settings.get("lora") is not None
            self.problem = self._typed.read.problems.get("requires_grad", "")

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        match content:
            case {"kind": "patterns", "patterns": list(patterns)}:
                self.train_only(*map(str, patterns))


def _record(name: str, shape: tuple[int, ...]) -> dict[str, Any]:
    count = 1
    for size in shape:
        count *= size
    return {"name": name, "shape": " × ".join(map(str, shape)) or "number", "count": count}  # noqa: RUF001
