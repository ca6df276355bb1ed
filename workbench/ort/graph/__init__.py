"""Graphs of forward and backward pass: building, reading and optimizing them."""
