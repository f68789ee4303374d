"""The number of members a group needs, found by simulations with its planner.  Pure.

- ``target``: the time lag to hold, and partitions that exceed it with any number of members.
- ``trials``: whether a number of members holds the target, in the simulation.
- ``least``: the least number that does, and why fewer do not.
- ``cost``: the cost of a number of members, with the rebalances that lead to it.
- ``sizing``: sizes by step, and advice.
"""

from __future__ import annotations

from kafka_assignors.simulation.sizing.cost import Cost
from kafka_assignors.simulation.sizing.least import LatePartition, Least
from kafka_assignors.simulation.sizing.sizing import Advice, Sizing, size
from kafka_assignors.simulation.sizing.target import Target

__all__ = ["Advice", "Cost", "LatePartition", "Least", "Sizing", "Target", "size"]
