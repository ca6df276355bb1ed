"""A client of federated training: its process, its messages and its work in a round."""
