"""When a member requests a further rebalance.

- ``second_round``: partitions that members revoked in the last round can move now.
- ``metadata_wait``: the leader planned before its metadata listed all topics and partitions.
- ``static_watch``: a static member found partitions without an owner.
"""
