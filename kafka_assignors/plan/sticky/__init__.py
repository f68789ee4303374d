"""The exact planner of ``fair``, ``sticky`` and ``fairest-sticky``: shares by minimum-cost flow.

Reading order: ``planner`` (the strategies), ``deal`` (partitions to counts and back), ``shares`` (how many
partitions of a topic each member gets), ``goals`` (their costs), ``first_guess``, ``max_flow`` (fair loads),
``residual`` and ``zero_cost_flow``, ``min_cost_flow`` (the optimum, with its proof).
"""
