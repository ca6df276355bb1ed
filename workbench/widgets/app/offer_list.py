"""Runs and comparisons that a page offers to show or to resume."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import traitlets

from workbench.controller.jobs.offered_runs import Offer
from workbench.runs import Run
from workbench.widgets.bundle import bundle
from workbench.widgets.page.after_cells import after_each_cell


class OfferList(anywidget.AnyWidget):
    """A line with a button for each offer; nothing while there is none."""

    _esm = bundle("offer_list.js")
    _css = bundle("offer_list.css")

    offers = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "id": traitlets.Unicode(),
                "action": traitlets.Unicode(),
                "text": traitlets.Unicode(),
            }
        )
    ).tag(sync=True)
    """One dict an offer; `action` as of `Offer`."""

    def __init__(
        self,
        on_run: Callable[[Offer], None],
        on_begin: Callable[[Run], None],
        on_comparison: Callable[[str], None],
        look: Callable[[], None],
        **kwargs: Any,
    ) -> None:
        """Create an empty list. The functions must return immediately.

        Args:
            on_run: called with the offered run that a user accepts, which goes on.
            on_begin: called with one that begins again.
            on_comparison: called with the id of the offered comparison that a user accepts.
            look: finds the offers anew; called after each cell while there are some, as a cell may
                define what a run needs to be resumed.
        """
        super().__init__(**kwargs)
        self._on_run, self._on_begin = on_run, on_begin
        self._on_comparison, self._look = on_comparison, look
        self._known: dict[str, Offer] = {}
        self._dismissed: set[str] = set()
        self.on_msg(self._on_message)
        after_each_cell(self, OfferList._look_again)

    def show(self, offers: Sequence[Offer]) -> None:
        """Replace the offers; those that were dismissed are left out."""
        self._known = {offer.id: offer for offer in offers if offer.id not in self._dismissed}
        self.offers = [
            {"id": offer.id, "action": offer.action, "text": offer.text}
            for offer in self._known.values()
        ]

    def renew(self, run_ids: Sequence[str]) -> None:
        """Runs that were trained again may be offered again, though they were dismissed before."""
        self._dismissed -= set(run_ids)

    def accept(self, offered_id: str) -> None:
        """Accept an offer, and remove it and the others."""
        offer = self._known.get(offered_id)
        if offer is not None and offer.action != "wait":
            self.show([])
            if offer.action == "open":
                self._dismissed.add(offer.id)
                self._on_comparison(offer.id)
            elif offer.action == "begin":
                self._on_begin(offer.run)
            else:
                self._on_run(offer)

    def _look_again(self) -> None:
        if self.offers:
            self._look()

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        match content:
            case {"kind": "accept", "id": str(offered_id)}:
                self.accept(offered_id)
            case {"kind": "dismiss", "id": str(offered_id)}:
                self._dismissed.add(offered_id)
                self.show(list(self._known.values()))
