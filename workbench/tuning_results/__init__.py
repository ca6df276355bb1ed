"""Results of `wb.tune`: their file, their storage, and the settings that a run derives from them.

wb.tune ──▶ record ──▶ storage: a file for each engine and class of shapes, beside the extensions
              │          │
a file of the user's ──▶ choose ──▶ the settings of a run
"""
