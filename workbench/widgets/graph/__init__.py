"""The view of graphs."""
