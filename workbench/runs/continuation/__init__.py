"""Resumes a run that has ended, or starts one from the weights of another."""
