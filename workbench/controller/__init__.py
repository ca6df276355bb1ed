"""The logic of the page, without widgets: models, settings, training, comparisons, state.

It starts and follows runs through the public API; it imports no widgets and no engine.
"""

from __future__ import annotations

from workbench.controller.controller import Controller
from workbench.controller.setup import Setup
from workbench.controller.state import Level, State
from workbench.controller.view import View

__all__ = ["Controller", "Level", "Setup", "State", "View"]
