"""Where a model comes from: one file a kind of source."""
