"""Reads and calls kafka-python's private parts.  Only this folder and ``consumer/continuous`` do.

kafka-python gives an assignor neither its consumer's protocol (eager or cooperative) nor the loss of its
membership, and has no public call that requests a rebalance.  The consumer's coordinator provides all three.
The coordinator calls the assignor, so the assignor finds it on the call stack of the first call.  The tests
in ``tests/unit/assignor/test_coordinator_access.py`` pin the private parts.

- ``access``: `CoordinatorAccess`, for an assignor; finds the coordinator that calls it.
- ``facts``: `CoordinatorFacts`, the state that an assignor reads.
- ``consumer``: functions of a given consumer, for listeners and the stateful consumer.
- ``metrics``: records a coordinator's rebalances in its consumer's metrics.
- ``responses``: steps added to a coordinator: keep the leader and the last round, read folded assignments.
"""
