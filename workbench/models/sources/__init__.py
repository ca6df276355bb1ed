"""Sources of models: one module per kind of source."""
