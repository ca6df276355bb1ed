"""Memory: predicted and measured, the largest batch that fits, and a model of 124M parameters."""
