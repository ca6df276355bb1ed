"""Gradients of matrix products."""
