"""The Python code equivalent to the page, as each step shows it."""
