"""Reads, atomic writes and locks of files and folders, with errors as one sentence."""
