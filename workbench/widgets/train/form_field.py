"""A field of a form, as its view reads it."""

from __future__ import annotations

from typing import Any

import traitlets


def form_field() -> Any:
    """The trait of one field, a dict; each widget needs a trait of its own. `unused` says why what
    is typed has no effect; missing or empty: it has."""
    return traitlets.Dict(
        per_key_traits={
            "name": traitlets.Unicode(),
            "label": traitlets.Unicode(),
            "description": traitlets.Unicode(),
            "unused": traitlets.Unicode(),
            "kind": traitlets.Unicode(),
            "default": traitlets.Unicode(),
            "choices": traitlets.List(traitlets.Unicode()),
        }
    )
