"""Runs of scenes on a broker.

- ``stage``: members, traffic, waits for conditions.  ``watch``: the group while it runs.
- ``compared``: the replay and the backlog.
"""
