"""Rewrites that end in Split, or replace it."""
