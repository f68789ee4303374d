"""The common base of the strategies that plan by lag.

- ``base``: `LagAssignor`, which fetches and reports lag, and plans with the newest report of each partition.
- ``options``: its options.  ``reports``: lag that members report in their user data.
- ``capacity``: capacities of members, given or measured.
- ``budget``: keeps the group's record within the broker's limit.
- ``forecasts``: adds forecast arrivals to the load that the leader plans with.
- ``skew_watcher``: requests a rebalance when lag has become uneven.
"""
