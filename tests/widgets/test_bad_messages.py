"""Messages from the browser that make no sense."""

from __future__ import annotations

import pytest

from workbench.controller import Setup
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.widgets.app.offer_list import OfferList
from workbench.widgets.artifacts.artifact_builder import ArtifactBuilder
from workbench.widgets.artifacts.parameter_tree import ParameterTree
from workbench.widgets.model.choice_field import ChoiceField
from workbench.widgets.page.controls import Controls
from workbench.widgets.train.settings_form import SettingsForm


@pytest.mark.fault
@pytest.mark.parametrize("content", [None, 5, [], "x", {}, {"kind": "type"}, {"kind": "patterns"}])
def test_a_message_that_makes_no_sense_is_ignored(content: object) -> None:
    typed = TypedSettings(Setup())
    step = ArtifactBuilder()
    for listen in (
        Controls({})._on_message,
        OfferList(print, print, print, print)._on_message,
        SettingsForm(typed)._on_message,
        ParameterTree(typed)._on_message,
        ChoiceField()._on_message,
        step._on_button,
        *(section._on_message for section in step.sections),
    ):
        listen(None, content, [])  # type: ignore[arg-type]
    assert typed.texts == {}
    step.close()
