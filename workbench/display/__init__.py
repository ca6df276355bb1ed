"""Formatting of names and numbers for display.

Text in, text out: besides `errors` it imports the standard library alone.
"""
