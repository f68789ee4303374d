"""What the lag-aware strategies have in common.

- ``base``: `LagAssignor`, which fetches lag, sends it, and plans with the newest report of each partition.
- ``options``: its options.  ``reports``: lag that members report in their user data.
- ``expectations``: forecasts in the load that the leader plans with.
- ``skew_watcher``: asks for a rebalance when lag has drifted apart.
- ``simulated``: a strategy by name and options, as a planner for simulations.
"""
