"""Base class of the engines that train a torch module, and its parts."""
