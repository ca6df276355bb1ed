"""The commands: each reads its options, calls the Python API and prints the result."""
