"""Simulation of a consumer group on a recorded load, with the real planners.  Pure: values in, figures out.

- ``history``: arrivals by step and partition.  ``churn``: joins, leaves and kills, and their times.
  ``scenario``: strategy, members, and the cost of rebalances.
- ``simulate``: the event loop, and the events.
- ``group``: the rounds of the group, through the planners.  ``leader``: the lag the leader knows, and the
  rebalances it requests.
- ``consumption``: records arrived and read so far.  ``serving``: a member's time, divided among partitions
  (``records_read``, ``Interval``).  ``time_lag``: age of the oldest unread record;
  ``level_record``: these ages of a whole simulation, window by window.
- ``outcome_builder``: collects the figures during a simulation.  ``outcome``: the figures, and the goals
  to minimise.  ``recommend``: ranking of strategies with reasons.
- ``sizing``: the number of members a group needs.
"""

from __future__ import annotations

from kafka_assignors.simulation.churn import ChurnStep, parse_churn
from kafka_assignors.simulation.history import History
from kafka_assignors.simulation.outcome import Outcome, Series, Situation
from kafka_assignors.simulation.recommend import Ranked, recommend
from kafka_assignors.simulation.scenario import Pauses, Scenario, Strategy
from kafka_assignors.simulation.simulate import simulate

__all__ = [
    "ChurnStep",
    "History",
    "Outcome",
    "Pauses",
    "Ranked",
    "Scenario",
    "Series",
    "Situation",
    "Strategy",
    "parse_churn",
    "recommend",
    "simulate",
]
