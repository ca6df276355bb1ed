"""A model of the arena from which ONNX Runtime's CPU sessions take the memory of values."""

from __future__ import annotations

from bisect import insort
from typing import NamedTuple

ALIGNMENT_BYTES = 256
"""Sizes are rounded up to a multiple of this."""
FIRST_REGION_BYTES = 2**20
"""Size of the first region; each further one is twice as large, or larger if a value needs it."""
SMALLEST_REMAINDER_BYTES = 256
"""A free block is divided when this much would be left."""


class Allocation(NamedTuple):
    """Memory of a value."""

    region: int
    offset: int


class _Block:
    __slots__ = ("free", "offset", "size")

    def __init__(self, offset: int, size: int) -> None:
        self.offset, self.size, self.free = offset, size, True


class Arena:
    """Best fit with coalescing, in regions that double; memory is kept until the session ends.

    These are the rules of `BFCArena` in ONNX Runtime 1.19 (extend strategy kNextPowerOfTwo), with
    the settings of `use_shared_arena`. The system makes memory resident when it is first written,
    so the resident set grows by the parts of the regions that a value has covered, not by whole
    regions.
    """

    def __init__(self) -> None:
        self._next_region_bytes = FIRST_REGION_BYTES
        self._regions: list[list[_Block]] = []
        self._written: list[list[tuple[int, int]]] = []

    def allocate(self, size_bytes: int) -> Allocation | None:
        """Reserve memory for a value; None for an empty one, which takes none."""
        if size_bytes == 0:
            return None
        size = -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        found = self._smallest_free(size)
        if found is None:
            self._extend(size)
            found = self._smallest_free(size)
            assert found is not None
        region, index = found
        block = self._regions[region][index]
        if block.size - size >= SMALLEST_REMAINDER_BYTES:
            rest = _Block(block.offset + size, block.size - size)
            self._regions[region].insert(index + 1, rest)
            block.size = size
        block.free = False
        insort(self._written[region], (block.offset, block.offset + size_bytes))
        return Allocation(region, block.offset)

    def release(self, place: Allocation | None) -> None:
        """Free the memory of a value, and join it with adjacent free blocks."""
        if place is None:
            return
        blocks = self._regions[place.region]
        index = next(i for i, block in enumerate(blocks) if block.offset == place.offset)
        blocks[index].free = True
        for left in (index, index - 1):
            if 0 <= left < len(blocks) - 1 and blocks[left].free and blocks[left + 1].free:
                blocks[left].size += blocks.pop(left + 1).size

    @property
    def resident_bytes(self) -> int:
        """Bytes covered by values so far."""
        total = 0
        for written in self._written:
            end = 0
            for start, stop in written:
                total += max(0, stop - max(start, end))
                end = max(end, stop)
        return total

    def _smallest_free(self, size: int) -> tuple[int, int] | None:
        """Region and index of the smallest free block of at least `size`, the first of several."""
        best: tuple[int, int, int] | None = None
        for region, blocks in enumerate(self._regions):
            for index, block in enumerate(blocks):
                if block.free and block.size >= size and (best is None or block.size < best[0]):
                    best = (block.size, region, index)
        return None if best is None else best[1:]

    def _extend(self, size: int) -> None:
        region = self._next_region_bytes
        if size <= region:
            self._next_region_bytes *= 2
        else:
            while region < size:
                region *= 2
            self._next_region_bytes = region
        self._regions.append([_Block(0, region)])
        self._written.append([])
