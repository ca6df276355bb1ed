"""The memory that a training graph takes: planned, predicted, and saved by recomputing."""
