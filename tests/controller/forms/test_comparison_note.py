"""What a comparison takes over from the settings of Train."""

from __future__ import annotations

from workbench.controller.forms.comparison_note import comparison_note
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.setup import Setup


def test_only_settings_that_a_comparison_uses_are_named() -> None:
    typed = TypedSettings(Setup())
    assert comparison_note(typed).endswith("which are the model's defaults now.")
    typed.type("epochs", "3")
    typed.type("evaluate_every", "5")
    typed.type("comparison_steps", "50")
    typed.type("detached", "yes")
    typed.type("federation", "yes")
    typed.type("federation.clients", "4")
    typed.type("lora.rank", "4")  # while LoRA is off
    assert comparison_note(typed).endswith("which are the model's defaults now.")
    typed.type("batch_size", " 64 ")
    typed.type("lora", "yes")
    typed.type("requires_grad", "layer" * 30)
    assert comparison_note(typed) == (
        "Compare trains with the settings of Train: batch size 64, train only "
        f"{'layer' * 12}…, LoRA yes, LoRA rank 4."
    )
