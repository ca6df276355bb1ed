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

_SMALLEST_REMAINDER_BYTES = 256
"""A free block is divided when this much would be left. By default it is given whole to a value
of more than half its size: the activations of a small CNN took up to a third more."""

_ERROR = 3

_IDENTITY = bytes.fromhex(
    "08083a2f0a100a017812017922084964656e746974791201675a0b0a017812060a0408011200"
    "620b0a017912060a040801120042040a001011"
)
"""An ONNX model, y = Identity(x), both float32 scalars: ONNX Runtime frees memory after a run."""


def use_shared_arena(options: Any) -> None:
    """Let sessions with these native options allocate their values from the arena."""
    _create()
    options.add_session_config_entry("session.use_env_allocators", "1")


def free_unused_memory() -> None:
    """Release unused memory to the system; the next step allocates it again."""
    session, run_options = _freeing()
    session.run(["y"], {"x": np.zeros((), np.float32)}, run_options)


@cache
def _create() -> None:
    """Create the arena; ONNX Runtime has one for each process."""
    ort = native()
    place = ort.OrtMemoryInfo(
        "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
    )
    settings = {
        "max_mem": _NO_LIMIT,
        "arena_extend_strategy": _POWER_OF_TWO,
        "initial_chunk_size_bytes": _DEFAULT,
        "max_dead_bytes_per_chunk": _SMALLEST_REMAINDER_BYTES,
        "initial_growth_chunk_size_bytes": _DEFAULT,
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
