"""Time of a run outside of its steps: imports, start-up, the loop, checkpoints; personalisation."""
