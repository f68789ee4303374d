"""Reads and calls kafka-python's private parts.  Only this folder and ``consumer/continuous`` do.

Through kafka-python's public calls, an assignor cannot learn which protocol its consumer runs (eager or
cooperative), notice that the membership is lost, or request a rebalance.  The consumer's coordinator provides
all three.  The coordinator calls the assignor, so the assignor finds the coordinator on the call stack.  The
tests in ``tests/unit/assignor/test_coordinator_access.py`` pin the private parts.

- ``access``: `CoordinatorAccess`, for an assignor; finds the coordinator that calls it.
- ``facts``: `CoordinatorFacts`, the state that an assignor reads.
- ``consumer``: functions of a given consumer, for listeners and the stateful consumer.
- ``metrics``: records a coordinator's rebalances in its consumer's metrics.
- ``responses``: adds steps after JoinGroup and SyncGroup responses.  They keep the leader and the generation,
  and unfold assignments (`wire.budget`).
"""
