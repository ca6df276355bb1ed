"""The machine: its description, its cores, and the load of other programs."""
