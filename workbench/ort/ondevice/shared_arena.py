"""One arena for the values of every session of a process, whose unused memory can be freed.

With one arena per session, as is ONNX Runtime's default, each model keeps the memory of the values
of a step: training, evaluation and the writing of a checkpoint add up, though only one of
them runs at a time.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from workbench.ort.native import native

_DEFAULT = -1
_NO_LIMIT = 0
_POWER_OF_TWO = 0
"""How the arena grows by default; of one that grows as requested, less is freed the first time."""

_LARGEST_REGION_BYTES = 2**30
"""ONNX Runtime limits the growth by powers of two to this."""

_SMALLEST_REMAINDER_BYTES = 256
"""A free block is divided when this much would be left. By default it is given whole to a value
of more than half its size: the activations of a small CNN took up to a third more."""

_ERROR = 3

_IDENTITY = bytes.fromhex(
    "08083a2f0a100a017812017922084964656e746974791201675a0b0a017812060a0408011200"
    "620b0a017912060a040801120042040a001011"
)
"""An ONNX model, y = Identity(x), both float32 scalars: ONNX Runtime frees memory after a run."""


def use_shared_arena(options: Any, region_bytes: int | None = None) -> None:
    """Let sessions with these native options allocate their values from the arena.

    Args:
        options: native session options.
        region_bytes: the least by which the arena grows once unused memory was freed, rounded up to
            a power of two; None: ONNX Runtime's default, 2 MB. Growth doubles from there. Where
            values have another size in each step, those that fitted small regions leave them
            unused. Pages of a region that no value has covered are not resident, but its tables
            are: 1/32 of it. The first session of a process decides: the arena is created then.
    """
    if _create.cache_info().currsize == 0:
        _create(region_bytes)
    options.add_session_config_entry("session.use_env_allocators", "1")


def free_unused_memory() -> None:
    """Release unused memory to the system; the next step allocates it again."""
    session, run_options = _freeing()
    session.run(["y"], {"x": np.zeros((), np.float32)}, run_options)


@cache
def _create(region_bytes: int | None) -> None:
    """Create the arena; ONNX Runtime has one for each process."""
    ort = native()
    growth = _DEFAULT
    if region_bytes is not None:
        growth = min(1 << (region_bytes - 1).bit_length(), _LARGEST_REGION_BYTES)
    place = ort.OrtMemoryInfo(
        "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
    )
    settings = {
        "max_mem": _NO_LIMIT,
        "arena_extend_strategy": _POWER_OF_TWO,
        "initial_chunk_size_bytes": _DEFAULT,
        "max_dead_bytes_per_chunk": _SMALLEST_REMAINDER_BYTES,
        "initial_growth_chunk_size_bytes": growth,
    }
    ort.create_and_register_allocator(place, ort.OrtArenaCfg(settings))


@cache
def _freeing() -> tuple[Any, Any]:
    """A session on the arena, and the options of a run that frees unused memory at its end."""
    ort = native()
    options = ort.SessionOptions()
    options.log_severity_level = _ERROR
    options.intra_op_num_threads = 1
    use_shared_arena(options)
    session = ort.InferenceSession(options, _IDENTITY, False, False)
    session.initialize_session([], [], set())
    run_options = ort.RunOptions()
    run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return session, run_options
