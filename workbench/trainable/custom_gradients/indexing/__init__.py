"""Gradients of operators that select, join or rearrange elements."""
