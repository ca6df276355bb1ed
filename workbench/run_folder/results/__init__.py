"""What the steps of a run come to."""
