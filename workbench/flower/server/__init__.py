"""The server of federated training: rounds, strategies, privacy, and its state between them."""
