"""Whole layers of a forward graph as one kernel of PyTorch."""
