"""What kafka-python calls in a rebalance, for every strategy.

- ``base``: `Assignor`, with the way of a rebalance from ``metadata`` to ``on_assignment``.
- ``options``: `Options` and `PlanReport`.
- ``convert``, ``joined``: kafka-python's values to ours and back; members whose data cannot be read.
- ``coordinator_access``: the private parts of kafka-python's coordinator.  Nothing else touches them, but for
  ``consumer/continuous``.
- ``second_round``, ``metadata_wait``, ``static_watch``: what makes a member ask for a further rebalance.
- ``fallback``: the plan where a strategy failed.  ``complaints``: problems, each logged once.
- ``new_protocol``: groups that a broker converted (KIP-848).  ``upgrade``: from eager to cooperative.
- ``collector``: pauses the garbage collector during a plan.
- ``lag/``: what the strategies have in common that plan with lag.
"""
