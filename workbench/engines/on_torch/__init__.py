"""What the engines share that train a torch module."""
