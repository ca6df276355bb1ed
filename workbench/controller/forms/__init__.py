"""The fields of the page's forms, and their typed values."""
