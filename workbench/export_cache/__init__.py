"""A cache of exports in the user's cache folder.

It reads and writes files there, and neither builds nor loads a model.
"""
