"""Checks before on-device training starts, and its state beside the weights."""
