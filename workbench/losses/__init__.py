"""Losses: built-in ones with options, and custom functions."""
