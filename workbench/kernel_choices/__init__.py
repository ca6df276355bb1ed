"""Which kernels run a graph fastest on this machine: what was measured, and what a run makes of it.

wb.tune ──▶ record ──▶ kept: a file for each engine and class of shapes, beside the extensions
              │          │
a file of the user's ──▶ choose ──▶ the settings of a run
"""
