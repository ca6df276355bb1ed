"""The library of the workbench's kernels: loading it, and the check of its results."""
