"""Freed memory that malloc holds is returned to the system."""

from __future__ import annotations

import ctypes
import linecache
import platform

import pytest

from workbench.ort.freed_memory import give_back_freed_memory
from workbench.worker.memory import rss_bytes

BLOCK_BYTES, BLOCKS = 100_000, 1_000
"""Blocks that malloc takes from its heap; each has pages of its own."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators are not told")
def test_freed_pages_are_given_back() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    blocks = [libc.malloc(BLOCK_BYTES) for _ in range(BLOCKS)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK_BYTES)
    for block in blocks[:-1]:
        libc.free(block)
    # The last one keeps the others from being given back as the end of the heap.
    before = rss_bytes()
    give_back_freed_memory()
    given_back = before - rss_bytes()
    libc.free(blocks[-1])
    assert given_back > BLOCK_BYTES * BLOCKS // 2


def test_source_lines_are_dropped() -> None:
    linecache.getlines(__file__)
    assert __file__ in linecache.cache
    give_back_freed_memory()
    assert __file__ not in linecache.cache
