"""The error for Python state that a forward pass changes, which a graph would not."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.export.buffer_writes import LostUpdateError

REMEDY = (
    "which a graph would do once, when it is exported. Keep numbers in a registered buffer that "
    "forward changes in place, or return them"
)


class ChangedStateError(LostUpdateError):
    """The forward pass changes state that is not a buffer."""

    def __init__(self, changed: Sequence[str]) -> None:
        """Create the error.

        Args:
            changed: phrases such as "its attribute 'calls'".
        """
        super().__init__(f"The forward pass changes {listed(changed)}, {REMEDY}.")
        self.changed = tuple(changed)


def listed(names: Sequence[str], most: int = 3) -> str:
    """Some names as a text: "a, b and 2 more"."""
    shown = [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
