"""Personalisation: fine-tunes a base model on a user's own labelled examples.

    examples = Examples("image")
    examples.add([[(0.1, 0.1), (0.9, 0.9)]], "slash")  # and more
    mine = personalise(examples)
    mine.wait().after.accuracy
    mine.export("mine.onnx")

Importing this package loads numpy only; models run in child processes.
"""

from __future__ import annotations

from workbench.personalisation.examples.example import Example
from workbench.personalisation.examples.examples import Examples
from workbench.personalisation.outcome import Outcome, Prediction
from workbench.personalisation.personalisation import Personalisation
from workbench.personalisation.personalise import personalise
from workbench.personalisation.prepare import prepare
from workbench.personalisation.recorded import load_personalisation

__all__ = [
    "Example",
    "Examples",
    "Outcome",
    "Personalisation",
    "Prediction",
    "load_personalisation",
    "personalise",
    "prepare",
]
