"""Padding is left out of the layers that work by token, where the results show nothing of it."""
