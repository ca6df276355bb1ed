"""Losses: what a training minimizes, by name with options or as a function of the user's own."""
