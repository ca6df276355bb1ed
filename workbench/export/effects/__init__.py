"""Detects side effects of a forward pass, which an exported graph would lose."""
