"""Reads what a run has recorded: its points, its state, its times and its failure."""
