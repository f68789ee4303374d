"""Simulation of a consumer group on a recorded load, with the real planners.  Pure: values in, figures out.

======================  ===============================================  ==================================
file                    purpose                                          key names
======================  ===============================================  ==================================
``history.py``          arrivals by step and partition                   ``History``
``churn.py``            joins, leaves and kills, and their times         ``ChurnStep``, ``parse``
``scenario.py``         strategy, members, and the cost of rebalances    ``Scenario``, ``Strategy``
``simulate.py``         the event loop                                   ``simulate``, ``Simulation``
``events.py``           the kinds of events, and those to come           ``EventQueue``
``group.py``            the rounds of the group, through the planners    ``GroupModel``
``leader.py``           the lag the leader knows, and its requests       ``Leader``
``consumption.py``      records arrived and read so far                  ``Consumption``
``serving.py``          a member's time, divided among partitions        ``shared``, ``Interval``
``time_lag.py``         age of the oldest unread record                  ``ages``, ``quantile``
``outcome_builder.py``  collects the figures during a simulation         ``OutcomeBuilder``
``outcome.py``          the figures, and which to minimise               ``Outcome``, ``GOALS``
``recommend.py``        ranking of strategies with reasons               ``recommend``
``sizing/``             the number of members a group needs              ``size``
======================  ===============================================  ==================================
"""

from __future__ import annotations

from kafka_assignors.simulation.churn import ChurnStep, parse
from kafka_assignors.simulation.history import History
from kafka_assignors.simulation.outcome import Move, Outcome, Series, Situation
from kafka_assignors.simulation.recommend import Ranked, Recommendation, recommend
from kafka_assignors.simulation.scenario import Pauses, Plan, Scenario, Strategy
from kafka_assignors.simulation.simulate import simulate

__all__ = [
    "ChurnStep",
    "History",
    "Move",
    "Outcome",
    "Pauses",
    "Plan",
    "Ranked",
    "Recommendation",
    "Scenario",
    "Series",
    "Situation",
    "Strategy",
    "parse",
    "recommend",
    "simulate",
]
