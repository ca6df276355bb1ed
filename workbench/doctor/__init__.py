"""`doctor`: checks the installation and names a command that fixes each problem.

What may crash runs in child processes; this one loads no native code.
"""

from __future__ import annotations

from workbench.doctor.doctor import doctor

__all__ = ["doctor"]
