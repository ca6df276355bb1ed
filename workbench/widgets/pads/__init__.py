"""Pads: a person's own drawings, words or text, and a model that is trained on with them."""

from __future__ import annotations

from workbench.widgets.pads.sketch_pad import SketchPad
from workbench.widgets.pads.sound_pad import SoundPad
from workbench.widgets.pads.text_pad import TextPad

__all__ = ["SketchPad", "SoundPad", "TextPad"]
