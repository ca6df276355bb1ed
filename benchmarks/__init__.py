"""Costs and gains of the workbench: ratios measured side by side in one run, on this machine.

Each folder has a subject; a benchmark is a function `measure` of one of its files, with its name in
`__main__`. Files beside it are what it starts in processes of their own. They may import the
whole package, and of the tests `personalisation/recorded.py`, which holds examples; only their
tests import them.
"""
