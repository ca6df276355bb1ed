"""What static figures share. The figure of a run, a comparison or a profile lies beside it."""
