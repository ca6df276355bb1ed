"""Settings of a run and their validation."""
