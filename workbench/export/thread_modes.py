"""The modes of torch.export, kept for each thread.

torch 2.13 keeps those of a program that is captured before dispatch in one object for the whole
process. What disables modes for a moment, as printing a tensor does, takes them from an export on
another thread and may put them back after its end: then that export, or every later one, fails.
"""

from __future__ import annotations

import threading
from typing import Any


def keep_modes_by_thread() -> None:
    """Give each thread modes of its own, once for the process; nothing in other versions of torch,
    or while a program is captured elsewhere."""
    import torch._ops as ops

    state: Any = getattr(ops, "_mode_stack_state_for_pre_dispatch", None)
    kind: Any = getattr(ops, "_ModeStackStateForPreDispatch", None)
    if kind is None or type(state) is not kind or state.count():
        return
    # Its constructor runs once in each thread.
    ops._mode_stack_state_for_pre_dispatch = type("StateOfThread", (kind, threading.local), {})()
