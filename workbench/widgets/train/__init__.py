"""The step Train: engines, settings and what training comes to."""
