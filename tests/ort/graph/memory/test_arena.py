"""The model of ONNX Runtime's arena, by placements that its rules fix."""

from __future__ import annotations

from workbench.ort.graph.memory.arena import FIRST_REGION_BYTES, Allocation, Arena

MIB = 2**20


def test_allocated_memory_stays_resident_and_is_reused() -> None:
    arena = Arena()
    first = arena.allocate(1000)
    assert first == Allocation(0, 0)
    arena.release(first)
    assert arena.allocate(600) == Allocation(0, 0)
    assert arena.allocate(100) == Allocation(0, 768), "sizes are multiples of 256 bytes"
    assert arena.resident_bytes == 1000
    assert arena.allocate(0) is None


def test_regions_double_and_freed_neighbours_join() -> None:
    arena = Arena()
    places = [arena.allocate(FIRST_REGION_BYTES // 2) for _ in range(2)]
    assert arena.allocate(FIRST_REGION_BYTES) == Allocation(1, 0)
    for place in places:
        arena.release(place)
    assert arena.allocate(FIRST_REGION_BYTES) == Allocation(0, 0), "the two halves are one again"
    assert arena.allocate(5 * MIB) == Allocation(2, 0), "a region of 8 MiB, of which 5 are resident"
    assert arena.resident_bytes == 7 * MIB


def test_what_a_value_leaves_of_a_block_is_free() -> None:
    arena = Arena()
    arena.release(arena.allocate(FIRST_REGION_BYTES))
    assert arena.allocate(600 * 1024) == Allocation(0, 0)
    assert arena.allocate(FIRST_REGION_BYTES - 600 * 1024) == Allocation(0, 600 * 1024)
    assert arena.allocate(256) == Allocation(1, 0), "the first region is full"
