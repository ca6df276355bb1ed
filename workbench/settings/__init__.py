"""Settings of a run, refused as a whole, every problem at once, before anything starts."""
