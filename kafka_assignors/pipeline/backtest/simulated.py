"""Strategies as picklable values for simulations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kafka.coordinator.assignors.abstract import RebalanceProtocol

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.assignor.lag.options import LagOptions
from kafka_assignors.assignor.options import ConfigurationError, plan_options
from kafka_assignors.plan import Assignment, Claims, Group
from kafka_assignors.simulation import Strategy
from kafka_assignors.strategies import load_strategy


@dataclass(frozen=True)
class NamedPlan:
    """The planner of a strategy.  Pickled as name and options, and built in the process that calls it."""

    name: str  # on the wire, or ``module:Class``
    options: tuple[tuple[str, Any], ...] = ()  # those that affect plans

    def __call__(self, group: Group, claims: Claims) -> Assignment:
        """Plan a group with the strategy."""
        return _assignor(self.name, self.options).checked_plan(group, claims)


@lru_cache(maxsize=256)
def _assignor(name: str, options: tuple[tuple[str, Any], ...]) -> Assignor:
    return load_strategy(name)(**dict(options))


def simulated(name: str, options: Mapping[str, Any] | None = None, *, by_load: bool = False) -> Strategy:
    """Make a strategy for simulations.

    Args:
        name: name on the wire, or ``module:Class``.
        options: options that affect plans; others are refused, because they concern a single consumer.
        by_load: use forecasts in addition to lag; only for strategies by lag.

    Raises:
        ConfigurationError: the strategy is unknown; an option is unknown, invalid or does not affect plans;
            or ``by_load`` is given for a strategy that ignores lag.
    """
    given = dict(options or {})
    kind = load_strategy(name)
    plans = plan_options(kind.options_type)
    for option in given:
        if option not in plans:
            known = ", ".join(plans) or "none"
            raise ConfigurationError(option, f"{name} has no such option that affects plans ({known})")
    assignor = kind(**given)
    if by_load and not kind.by_lag:
        raise ConfigurationError("by_load", f"{name} does not plan by lag")
    return Strategy(
        name=name,
        plan=NamedPlan(name, tuple(sorted(given.items()))),
        parameters=given,
        cooperative=RebalanceProtocol.COOPERATIVE in kind.protocols,
        by_lag=kind.by_lag,
        by_load=by_load,
        lag_refresh_s=LagOptions().lag_refresh_ms / 1000,
        min_improvement=assignor.min_improvement if isinstance(assignor, LagAssignor) else 0.1,
    )
