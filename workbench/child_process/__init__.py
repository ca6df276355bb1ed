"""Runs work that may crash in child processes; holds the watchdog of workers.

The worker itself is `workbench.worker`.
"""
