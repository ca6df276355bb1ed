"""How each engine is drawn, in static figures as in the live charts."""

from __future__ import annotations

STYLES = {
    "pytorch": ("#c2410c", "-"),
    "pytorch-compile": ("#7c3aed", (0, (6, 2))),
    "ondevice": ("#0369a1", (0, (4, 1.5, 1, 1.5))),
    "ortmodule": ("#15803d", (0, (1.5, 1.5))),
    "fake": ("#525252", "-"),
}
"""Colour and dash of each engine; the live charts use the same."""
