"""Calls of the wrapped module: the first of a kind, repeated ones, and its own methods' calls."""
