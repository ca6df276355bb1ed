"""Graphs of forward and backward: building, reading and improving them."""
