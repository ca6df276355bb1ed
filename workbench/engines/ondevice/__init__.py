"""The engine for training on device: the engine itself, its checks, statistics and state."""
