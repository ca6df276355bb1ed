"""Gradients of activation functions."""
