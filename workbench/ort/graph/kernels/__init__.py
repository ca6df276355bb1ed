"""Puts the workbench's own kernels into training graphs, one family of operators per file."""
