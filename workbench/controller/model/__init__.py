"""Contents of the Model step: models found in the notebook, layers, rows of the data."""
