"""Cuts a forward graph into segments, for custom autograd functions and gradient buckets."""
