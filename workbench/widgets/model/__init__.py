"""The step Model: what is trained, on which data."""
