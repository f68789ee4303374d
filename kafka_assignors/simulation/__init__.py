"""Back-testing: what a strategy would have done with a recorded load.  Pure: values in, figures out.

================  ==================================================  ======================================
file              purpose                                             key names
================  ==================================================  ======================================
``history.py``    what arrived where and when                         ``History``
``churn.py``      who joins, leaves or is killed when                 ``Step``, ``parse``
``scenario.py``   a strategy, members, and what rebalances cost       ``Scenario``, ``Strategy``, ``Pauses``
``simulate.py``   from event to event                                 ``simulate``
``crew.py``       the group's rounds, through the planners            ``Crew``
``told.py``       what the leader is told of lag                      ``Told``
``watch.py``      whether the leader asks for a rebalance by itself   ``Watch``
``work.py``       what has come, what was read, and how that goes on  ``Work``
``serving.py``    how a member shares its time among its partitions   ``shared``
``interval.py``   a stretch of time in which lag changes evenly       ``Interval``
``time_lag.py``   the age of the oldest record not read yet           ``ages``, ``quantile``
``books.py``      what is written down on the way, and the figures    ``Books``
``outcome.py``    the figures                                         ``Outcome``
``goals.py``      what is to be small, and when two figures differ    ``GOALS``
``recommend.py``  which strategy to pick, and why                     ``recommend``
================  ==================================================  ======================================
"""

from __future__ import annotations

from kafka_assignors.simulation.churn import Step, parse
from kafka_assignors.simulation.history import History
from kafka_assignors.simulation.outcome import Move, Outcome, Series, Situation
from kafka_assignors.simulation.recommend import Ranked, Recommendation, recommend
from kafka_assignors.simulation.scenario import Pauses, Plan, Scenario, Strategy
from kafka_assignors.simulation.simulate import simulate

__all__ = [
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
    "Step",
    "Strategy",
    "parse",
    "recommend",
    "simulate",
]
