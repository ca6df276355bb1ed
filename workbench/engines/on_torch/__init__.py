"""Code shared by the engines that train a torch module."""
