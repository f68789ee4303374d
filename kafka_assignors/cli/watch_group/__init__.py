"""``kafka-assignors watch``: a live view of a group.

- ``command``: the command line.
- ``source``: reads the group and its topics (a *look*), and separately its lag.
- ``history``: the rebalances between snapshots of the group.  Pure.
- ``frame``: one screen as values and text, fitted to the terminal's width.  Pure.
- ``text``: texts of names, partitions, times and rebalances.  Pure.
- ``rebalance_log``: the log of rebalances, a widget.
- ``app``: the terminal application: keys, scrolling, polling.
"""
