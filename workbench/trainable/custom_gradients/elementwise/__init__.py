"""Gradients of arithmetic and functions that are computed element by element."""
