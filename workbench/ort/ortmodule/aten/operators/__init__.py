"""Single nodes as kernels of PyTorch, one file a family of operators."""
