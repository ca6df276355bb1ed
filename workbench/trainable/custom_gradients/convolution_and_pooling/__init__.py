"""Gradients of operators that slide a window over an image or a line."""
