"""Costs and gains of the workbench: ratios measured side by side in one run, on this machine."""
