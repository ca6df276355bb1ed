"""What the Model step shows: models found in the notebook, layers, rows of the data."""
