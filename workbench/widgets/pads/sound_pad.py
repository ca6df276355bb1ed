"""Record short words of your own, train on them, and see them recognised."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.data.spectrogram import BANDS, FRAMES, RATE_HZ
from workbench.personalisation import Examples
from workbench.personalisation.examples.example import FULL_SCALE
from workbench.widgets.bundle import bundle
from workbench.widgets.pads.command import PadCommand
from workbench.widgets.pads.gallery_pad import GalleryPad
from workbench.widgets.pads.pad import Action


class SoundPad(GalleryPad):
    """A pad to record short spoken words, and to train a model that knows them.

    pad = wb.SoundPad(["open", "close"])
    pad  # record and press Fine-tune on examples; or:
    pad.add(samples, "open", rate=16000)
    pad.train()
    pad.wait()
    pad.export("words.onnx")
    """

    _esm = bundle("sound_pad.js")
    _css = bundle("sound_pad.css")

    kind = "audio"
    hint = "Record about five of each word, then press Fine-tune on examples."
    export_name = "words.onnx"
    thumbnail_shape = (BANDS, FRAMES)

    def add(self, recording: Any, label: str, rate: float | None = None) -> int:
        """Add a recording to the class `label`; returns its id.

        Args:
            recording: (samples,) or (samples, channels), floats from -1 to 1 or int16. Its loudest
                second is kept.
            label: of at most 60 characters.
            rate: samples per second; None: 8,000.

        Raises:
            DataError: it is no recording, or silent, or the label is none.
        """
        with self._lock:
            made = self.examples.add(recording, label, rate=rate)
            self.refresh()
        return made

    def _thumbnail(self, value: np.ndarray) -> np.ndarray:
        """Its spectrogram, high frequencies on top."""
        picture = Examples.spectrogram(value.astype(np.float32) / FULL_SCALE)[::-1]
        return np.round(255 * picture).astype(np.uint8)

    def _play(self, command: PadCommand) -> None:
        item = self.examples[command.example_id()]
        assert isinstance(item.value, np.ndarray)
        samples = (item.value / np.float32(FULL_SCALE)).astype("<f4")
        self.send({"kind": "sound", "rate": RATE_HZ}, [samples.tobytes()])

    def _actions(self) -> dict[str, tuple[str, Action]]:
        def add_sound(command: PadCommand) -> None:
            samples, rate = command.sound()
            self.add(samples, command.text("label"), rate)

        def recognise_sound(command: PadCommand) -> None:
            self._try_value(*command.sound())

        return {
            **super()._actions(),
            "add_sound": ("examples", add_sound),
            "recognise_sound": ("try", recognise_sound),
            "play": ("examples", self._play),
        }
