"""The error for a refused option of a widget."""

from __future__ import annotations

import traitlets

from workbench.errors import ConfigError


class OptionError(ConfigError, traitlets.TraitError):
    """A refused option. traitlets restores the old value for a `TraitError` alone."""
