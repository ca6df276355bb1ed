"""What a notebook shows of a view without a kernel, where the view is no part of a page."""

from __future__ import annotations

from typing import Any

PLAIN_TEXT = "Run this cell in JupyterLab to open this view, which needs a kernel."


class ShownAlone:
    """Base class of views that can be displayed by themselves."""

    @property
    def _keeper(self) -> Any:
        """The widget with the trait `page_id`, whose front end keeps a sentence in the notebook;
        None: the view is a part of a page."""
        return self

    def _repr_mimebundle_(self, **options: Any) -> Any:
        if self._keeper is not None:
            self._keeper.page_id = self.model_id  # type: ignore[attr-defined]
        made = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        data, *metadata = made if isinstance(made, tuple) else (made,)
        data = {**data, "text/plain": PLAIN_TEXT}
        return (data, *metadata) if metadata else data
