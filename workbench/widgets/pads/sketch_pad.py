"""Draw symbols of your own, train on them, and see them recognised."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.data.strokes import SIDE
from workbench.personalisation.examples.photograph import ink_of
from workbench.widgets.bundle import bundle
from workbench.widgets.pads.command import PadCommand
from workbench.widgets.pads.gallery_pad import GalleryPad
from workbench.widgets.pads.pad import Action


class SketchPad(GalleryPad):
    """A pad to draw symbols on, by hand or by photograph, and to train a model that knows them.

        pad = wb.SketchPad(["star", "house"])
        pad  # draw and press Fine-tune on examples; or:
        pad.add([[(0.1, 0.1), (0.9, 0.9)]], "star")
        pad.train()
        pad.wait()
        pad.result.after.accuracy
        pad.export("symbols.onnx")

    Camera and files stay in the browser: only pictures that are added are sent to the kernel.
    """

    _esm = bundle("sketch_pad.js")
    _css = bundle("sketch_pad.css")

    kind = "image"
    hint = "Draw about five of each symbol, then press Fine-tune on examples."
    export_name = "symbols.onnx"
    thumbnail_shape = (SIDE, SIDE)

    def add(self, drawing: Any, label: str) -> int:
        """Add a drawing to the class `label`; returns its id.

        Args:
            drawing: strokes, each a list of points (x, y), x to the right and y down; or an array
                (height, width), uint8 or floats from 0 to 1, where the largest value is ink.
            label: of at most 60 characters.

        Raises:
            DataError: it is no drawing, or the label is none.
        """
        with self._lock:
            made = self.examples.add(drawing, label)
            self.refresh()
        return made

    def add_picture(self, picture: np.ndarray, label: str) -> int:
        """Add a photograph of a symbol, dark on light paper; returns its id.

        Args:
            picture: (height, width), uint8, 0 black to 255 white.
            label: of at most 60 characters.

        Raises:
            DataError: there is no dark symbol in it.
        """
        return self.add(ink_of(picture), label)

    def _thumbnail(self, value: np.ndarray) -> np.ndarray:
        return value

    def _actions(self) -> dict[str, tuple[str, Action]]:
        def add_drawing(command: PadCommand) -> None:
            self.add(command.strokes(), command.text("label"))

        def add_picture(command: PadCommand) -> None:
            self.add_picture(command.picture(), command.text("label"))

        def recognise_drawing(command: PadCommand) -> None:
            strokes = command.strokes()
            if strokes:
                self._try_value(strokes)
            else:
                self._tried.ask(lambda: setattr(self, "recognised", []))

        def recognise_picture(command: PadCommand) -> None:
            self._try_value(ink_of(command.picture()))

        return {
            **super()._actions(),
            "add_drawing": ("examples", add_drawing),
            "add_picture": ("examples", add_picture),
            "recognise_drawing": ("try", recognise_drawing),
            "recognise_picture": ("try", recognise_picture),
        }
