"""Pads: widgets to draw, record or paste examples and fine-tune a base model on them."""

from __future__ import annotations

from workbench.widgets.pads.sketch_pad import SketchPad
from workbench.widgets.pads.sound_pad import SoundPad
from workbench.widgets.pads.text_pad import TextPad

__all__ = ["SketchPad", "SoundPad", "TextPad"]
