"""What a comparison takes over from the settings of Train."""

from __future__ import annotations

from workbench.controller.forms.comparison_note import comparison_note
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.setup import Setup


def test_settings_that_a_comparison_uses_are_named_with_their_values() -> None:
    typed = TypedSettings(Setup())
    defaults = "The next comparison has the settings of Train."
    assert comparison_note(typed) == defaults
    typed.type("comparison_steps", "50")
    typed.type("detached", "yes")
    typed.type("federation", "yes")
    typed.type("federation.clients", "4")
    typed.type("lora", "no")
    typed.type("lora.rank", "4")
    assert comparison_note(typed) == defaults
    typed.type("epochs", "3")
    typed.type("evaluate_every", "5")
    assert comparison_note(typed) == (
        f"{defaults} It does not use: epochs, evaluate every (steps)."
    )
    typed.type("batch_size", " 64 ")
    typed.type("learning_rate", "fast")
    typed.type("lora", "yes")
    typed.type("requires_grad", "layer" * 30)
    assert comparison_note(typed).startswith(
        "The next comparison has the settings of Train: batch size 64, learning rate fast (wrong), "
        f"train only {'layer' * 12}…, LoRA yes, LoRA rank 4. It does not use: "
    )


def test_a_single_engine_has_nothing_to_be_compared_with() -> None:
    said = comparison_note(TypedSettings(Setup(engines=["pytorch"])))
    assert said.startswith("Only pytorch is chosen: choose an engine to compare it with. The next")
    said = comparison_note(TypedSettings(Setup(engines=["pytorch", "ondevice"])))
    assert said.startswith("The next comparison")
