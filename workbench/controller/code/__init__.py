"""The Python that does the same as the page: the code that each step shows."""
