"""Converts the graph of a forward pass to one of both passes."""
