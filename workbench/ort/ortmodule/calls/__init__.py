"""Calls of the wrapped module: the first of its kind, repeated ones, and those of its own methods."""
