"""Exit statuses of the commands beside 0, 1 and 2."""

INTERRUPTED = 130
"""Interrupted by Ctrl-C: 128 + SIGINT, as in shells."""
