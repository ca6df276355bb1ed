"""Formatting of names and numbers for display.

Text in, text out: it imports the standard library alone.
"""
