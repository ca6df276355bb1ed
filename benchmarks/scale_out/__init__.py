"""Training by several processes: data-parallel ranks and federated clients."""
