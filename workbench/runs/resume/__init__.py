"""Continues a run that has ended, or begins one with the weights of another."""
