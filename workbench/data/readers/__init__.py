"""Rows from files and from torch datasets, one file a format."""
