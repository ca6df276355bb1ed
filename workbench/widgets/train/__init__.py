"""The step Train: engines, settings and live results."""
