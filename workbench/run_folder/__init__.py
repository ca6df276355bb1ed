"""The run folder: the only interface between a worker and its clients."""
