"""Imports and unpickles user code; the only package that does."""
