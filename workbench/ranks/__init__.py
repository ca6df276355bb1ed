"""Data-parallel runs: the processes (ranks) of one run, under torchrun's elastic agent.

`__main__` is the agent. It replaces a run's worker and starts a `rank` for each process:
the first runs the worker's training loop, the others follow it. Only the first reads and writes the
run folder.
"""
