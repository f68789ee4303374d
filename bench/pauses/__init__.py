"""Measures the pauses of partitions in a rebalance."""
