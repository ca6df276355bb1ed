"""Windows, resizing and reduced axes, as rewrites and gradients read them from a node."""
