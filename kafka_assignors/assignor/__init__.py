"""The code that kafka-python calls in a rebalance, shared by all strategies.

- ``base``: `Assignor`, the course of a rebalance from ``metadata`` to ``on_assignment``.
- ``hooks``: `StrategyHooks`, the attributes and methods that strategies override.
- ``options``: `Options` and `PlanReport`.  ``reporting``: the log line and the metrics of a plan.
- ``convert``: kafka-python's values to the planner's and back.  ``members``: reads untrusted member data.
- ``coordinator_access``: the private parts of kafka-python's coordinator.  Apart from ``coordinator_access``,
  only ``consumer/continuous`` uses them.
- ``rejoin``: when a member requests a further rebalance.
- ``record_size``: the bytes of the group's record, and the warning near the broker's limit.
- ``causes``: why the group rebalanced.
- ``fallback``: the plan when a strategy fails.  ``complaints``: warnings about members.
- ``new_protocol``: the notice that the broker converted the group (KIP-848).
- ``collector``: pauses the garbage collector during a plan.
- ``lag/``: the base of the strategies that plan by lag.
"""
