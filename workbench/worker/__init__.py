"""The worker process of a run: loop, evaluation, checkpoints.

It communicates with its clients only through the run folder.
"""
