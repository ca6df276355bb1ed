"""Comparisons of recorded runs of any time."""
