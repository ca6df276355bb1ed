"""Removes padding tokens from the layers that work by token, where no result changes."""
