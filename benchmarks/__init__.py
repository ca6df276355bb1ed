"""What the workbench costs and gains: ratios measured side by side in one run, on this machine."""
