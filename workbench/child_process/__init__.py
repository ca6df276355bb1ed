"""Runs work that may crash in child processes; the watchdog of workers, and their exit status.

The worker itself is `workbench.worker`.
"""
