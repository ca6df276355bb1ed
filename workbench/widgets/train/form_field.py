"""A field of a form, as its view reads it."""

from __future__ import annotations

from typing import Any

import traitlets


def form_field() -> Any:
    """The trait of one field, a dict; each widget needs a trait of its own. `remark` says why what
    is typed has no effect, or what it asks for; it may be missing or empty."""
    return traitlets.Dict(
        per_key_traits={
            "name": traitlets.Unicode(),
            "label": traitlets.Unicode(),
            "description": traitlets.Unicode(),
            "remark": traitlets.Unicode(),
            "kind": traitlets.Unicode(),
            "default": traitlets.Unicode(),
            "choices": traitlets.List(traitlets.Unicode()),
        }
    )
