"""What a forward pass changes beside its result, which a graph would not."""
