"""`doctor`: checks the installation and gives a command that fixes each problem."""

from __future__ import annotations

from workbench.doctor.doctor import doctor

__all__ = ["doctor"]
