"""Losses: built-in ones with options, and custom functions.

torch is imported on use; a custom function is found and read by `user_code` alone.
"""
