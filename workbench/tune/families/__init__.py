"""Which library computes each family of operators fastest, on top of a variant of the whole graph.

refine ── starts the process, reads its answer ──▶ record
__main__ ── the process: one family after another by each other library
  candidate ── an engine with some families by other libraries
  time_shares ── time of a step by family
  timed_pair ── steps of two engines in turn, and whether their results agree
"""

from __future__ import annotations

from workbench.tune.families.refine import FamilyChoice, refine

__all__ = ["FamilyChoice", "refine"]
