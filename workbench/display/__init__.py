"""Formatting of names and numbers for display."""
