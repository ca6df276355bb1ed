"""A temporary random seed for building a module."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_lock = threading.Lock()
_inside: set[int] = set()
"""The threads inside a `seeded` block."""
_kept: list[torch.Tensor] = []
"""The generator's state before the first of them, while there are any."""


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's CPU generator inside the block, and restore its state afterwards.

    The generator is the whole process's. Where threads are in blocks at the same time, the state
    before the first is restored after the last, and none waits for another, which may build for
    minutes: what they draw then depends on their timing.
    """
    import torch

    # torch.manual_seed would also reseed accelerators, whose state is not restored here.
    generator = torch.default_generator
    thread = threading.get_ident()
    if thread in _inside:  # a block within a block
        with torch.random.fork_rng(devices=[]):
            generator.manual_seed(seed)
            yield
        return
    with _lock:
        if not _inside:
            _kept[:] = [generator.get_state()]
        _inside.add(thread)
        generator.manual_seed(seed)
    try:
        yield
    finally:
        with _lock:
            _inside.remove(thread)
            if not _inside:
                generator.set_state(_kept.pop())
