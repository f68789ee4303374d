"""The number of members a group needs, found by simulations with its planner.  Pure.

- ``target``: the time lag to hold, and partitions that exceed it with any number of members.
- ``least``: the least number of members that holds the target.
- ``sizing``: sizes by step, advice, and the cost of scaling.
"""

from __future__ import annotations

from kafka_assignors.simulation.sizing.least import LatePartition, Least
from kafka_assignors.simulation.sizing.sizing import Advice, Cost, Sizing, size
from kafka_assignors.simulation.sizing.target import Target

__all__ = ["Advice", "Cost", "LatePartition", "Least", "Sizing", "Target", "size"]
