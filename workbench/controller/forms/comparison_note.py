"""What a comparison takes over from the settings of Train, in a sentence."""

from __future__ import annotations

from workbench.controller.forms.setting_texts import FIELDS, NOT_CONFIGURED, applies
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.setup import TRAINING_ONLY
from workbench.settings.setting_labels import label_in_sentence

OF_TRAINING = frozenset({*NOT_CONFIGURED, *TRAINING_ONLY, "federation"}) - {"base", "base_except"}
LONGEST = 60
"""Of a typed text, in characters."""


def comparison_note(typed: TypedSettings) -> str:
    """As "Compare trains with the settings of Train: batch size 64, learning rate 0.01."."""
    texts = typed.texts
    given = [
        f"{label_in_sentence(name)} {_short(texts[name].strip())}"
        for name in FIELDS
        if texts.get(name, "").strip() and _taken_over(name) and applies(name, texts)
    ]
    if not given:
        return "Compare trains with the settings of Train, which are the model's defaults now."
    return f"Compare trains with the settings of Train: {', '.join(given)}."


def _taken_over(name: str) -> bool:
    return name not in OF_TRAINING and not name.startswith("federation.")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
