"""Custom autograd functions in an export."""
