"""How long partitions stand still in a rebalance."""
