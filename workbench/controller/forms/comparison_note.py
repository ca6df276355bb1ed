"""What a comparison takes over from the settings of Train, in a sentence."""

from __future__ import annotations

from workbench.controller.forms.setting_fields import NO
from workbench.controller.forms.setting_texts import FIELDS, NOT_CONFIGURED, applies
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.setup import TRAINING_ONLY
from workbench.settings.setting_labels import label_in_sentence

OF_TRAINING = frozenset({*NOT_CONFIGURED, *TRAINING_ONLY, "federation"}) - {"base", "base_except"}
LONGEST = 60
"""Of a typed text, in characters."""


def comparison_note(typed: TypedSettings) -> str:
    """As "The next comparison has the settings of Train: batch size 64, learning rate 0.01. It does
    not use: epochs."."""
    given = {name: text for name, text in typed.texts.items() if text.strip() and name in FIELDS}
    used = [name for name in FIELDS if name in given and _taken_over(name, typed)]
    unused = [label_in_sentence(name) for name in FIELDS if name in given and name in TRAINING_ONLY]
    settings = [f"{label_in_sentence(name)} {_text(name, typed)}" for name in used]
    values = f": {', '.join(settings)}" if settings else ""
    rest = f" It does not use: {', '.join(unused)}." if unused else ""
    said = f"The next comparison has the settings of Train{values}.{rest}"
    if len(typed.engines) == 1:
        return f"Only {typed.engines[0]} is chosen: choose an engine to compare it with. {said}"
    return said


def _taken_over(name: str, typed: TypedSettings) -> bool:
    other = name in OF_TRAINING or name.startswith("federation.")
    off = name == "lora" and typed.texts[name].strip() == NO
    return not (other or off) and applies(name, typed.texts)


def _text(name: str, typed: TypedSettings) -> str:
    text = typed.texts[name].strip()
    wrong = " (wrong)" if name in typed.problems else ""
    return (text if len(text) <= LONGEST else f"{text[:LONGEST]}…") + wrong
