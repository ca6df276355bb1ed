"""Steps of ORTModule over eager PyTorch's: whole, by layer, with custom functions, with padding."""
