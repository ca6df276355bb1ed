"""The folder of one run: the only thing that a worker and its watchers share."""
