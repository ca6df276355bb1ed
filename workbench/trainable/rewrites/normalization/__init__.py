"""Rewrites of normalizations."""
