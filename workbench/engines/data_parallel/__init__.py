"""Training by several processes (ranks), each with a part of every batch."""
