"""Looks at this machine: what works, and the command that mends what does not."""

from __future__ import annotations

from workbench.doctor.doctor import doctor

__all__ = ["doctor"]
