"""A consumer that delivers records during a cooperative rebalance, with a coordinator of our own.

Like ``assignor/coordinator_access`` this folder uses kafka-python's private parts.  No other module does.

- ``make``: `ContinuousConsumer`, and `make_continuous`, which does the same for an existing consumer.
- ``known_parts``: digests of the methods that this folder replaces or relies on.
- ``coordinator``: ``poll()`` does not wait for a join.  ``joins``: joins while the application is busy.
- ``offsets``: commits, offset fetches and LeaveGroup during a join, over a second connection.
- ``membership``: when the broker last confirmed the membership; heartbeats during a join and right after it.
- ``join_state``: the phases of a join and their transitions.  Pure.
"""

from __future__ import annotations

from kafka_assignors.consumer.continuous.make import ContinuousConsumer, make_continuous

__all__ = ["ContinuousConsumer", "make_continuous"]
