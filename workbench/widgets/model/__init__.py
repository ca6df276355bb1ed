"""The step Model: choice of model and dataset."""
