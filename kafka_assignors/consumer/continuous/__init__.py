"""A consumer that goes on during a cooperative rebalance, by a coordinator of our own.

Like ``adapter/consumer_side.py`` this folder touches kafka-python's private parts, and nothing outside does.

- ``make``: gives a consumer that coordinator, if kafka-python is the one we know.
- ``known_parts``: the digests of the methods that the next files replace or rely on.
- ``coordinator``: ``poll()`` does not wait for a join; joins while the application is busy.
- ``offsets``: commits, fetches of offsets, and LeaveGroup during a join, over a second connection.
- ``heartbeat``: more heartbeats right after a join.
- ``join_state``: the phase of a member in a join, and the steps it allows.  Pure.
"""

from __future__ import annotations

from kafka_assignors.consumer.continuous.make import make_continuous

__all__ = ["make_continuous"]
