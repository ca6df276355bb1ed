"""Trainings and comparisons in progress: how they start, are followed and offered again."""
