"""Gradients of our own, one kind of node a file."""
