"""What an option of a widget cannot be."""

from __future__ import annotations

import traitlets

from workbench.errors import ConfigError


class OptionError(ConfigError, traitlets.TraitError):
    """A refused option. traitlets gives the old value back for a `TraitError` alone."""
