"""The number of members a group needs, found by simulations with its planner.  Pure.

==============  ===========================================================  ====================
file            purpose                                                      key names
==============  ===========================================================  ====================
``target.py``   the time lag to hold, and partitions that exceed it anyway   ``Target``, ``Limits``
``least.py``    the least number of members that holds the target            ``Search``
``sizing.py``   sizes by step, advice, and the cost of scaling               ``size``, ``Advice``
==============  ===========================================================  ====================
"""

from __future__ import annotations

from kafka_assignors.simulation.sizing.least import Least, Reason
from kafka_assignors.simulation.sizing.sizing import Advice, Cost, Sizing, StepSize, size
from kafka_assignors.simulation.sizing.target import HotPartition, Target

__all__ = ["Advice", "Cost", "HotPartition", "Least", "Reason", "Sizing", "StepSize", "Target", "size"]
