"""Nested arguments and results of a module as flat tensors and constants."""
