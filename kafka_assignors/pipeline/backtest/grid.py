"""The trials of a back-test: all combinations of candidates and situations.  Pure.

A *candidate* is a choice of the user: a strategy with its parameters, and a policy for requesting rebalances.
All else is the *situation*: the load, the members, their *churn* (joins, leaves and kills), and the
*surroundings*, such as the cost of a rebalance.  A *replicate* is one draw of the times of the churn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

import numpy as np

from kafka_assignors.assignor.options import plan_options
from kafka_assignors.errors import OptionError
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.plan.load.skew import RebalanceOnSkew
from kafka_assignors.simulation import ChurnStep, History, Pauses, Scenario, Strategy
from kafka_assignors.simulation.churn import Kind
from kafka_assignors.simulation.scenario import FORECAST_DELAY_S, Parameter
from kafka_assignors.strategies import load_strategy
from kafka_assignors.validators import boolean, one_of, positive

T = TypeVar("T")

FED = "cooperative-lag-aware"
"""The strategy that can use forecasts."""

CHOICES = ("load", "rebalance_on_skew", "replan_s")
"""Parameters of candidates besides the options of strategies.

``load``: ``lag`` or ``forecast``, for `FED`.  ``rebalance_on_skew``: true or false, for strategies by lag.
``replan_s``: seconds between two unconditional rebalances, or null.
"""

_COSTS = tuple(pause.name for pause in fields(Pauses))
SURROUNDINGS = (*_COSTS, "forecast_delay_s", "drain_limit_s")
"""The cost of a rebalance (``Pauses``), the age of forecasts, and the time limit after the history."""

NO_RATE = "no backlog was long enough to measure a service rate: give --service-rate"
NO_FORECASTS = "it has no forecasts"
"""Reasons to skip a group."""

_SPARE = 1.3  # default number of members, as a multiple of the members that the mean load needs


@dataclass(frozen=True, slots=True)
class Candidate:
    """A strategy with its parameters, and a policy for requesting rebalances."""

    strategy: Strategy  # its ``parameters`` name the choices of the candidate, but not default ones
    skew: RebalanceOnSkew | None = None  # None: the leader requests no rebalance on uneven lag
    replan_s: float | None = None  # seconds between two unconditional rebalances; None: never


@dataclass(frozen=True, slots=True)
class Trial:
    """One scenario of a back-test, and one task on Spark."""

    number: int  # from 0
    group: str
    scale: float  # factor on the recorded arrivals
    scenario: Scenario
    replicate: int = 0  # from 1; 0: the times of the churn are as given, not drawn


@dataclass(frozen=True, slots=True)
class Grid:
    """The values to try; the trials are all combinations."""

    candidates: tuple[Candidate, ...]
    members: tuple[int, ...] = ()  # at the start; empty: ``usual_members``
    churn: tuple[tuple[ChurnStep, ...], ...] = ()  # empty: ``usual_churn``
    scales: tuple[float, ...] = (1.0,)  # factors on the recorded arrivals
    service_rates: tuple[float | None, ...] = (None,)  # records/s of one member; None: the history's
    surroundings: Mapping[str, Sequence[float]] = field(default_factory=dict)  # see ``SURROUNDINGS``
    replicates: int = 1  # draws of the times of each churn; 1: the times as given
    seed: int = 0  # the same seed gives the same draws

    def left_out(self, histories: Iterable[History]) -> dict[str, str]:
        """Return group -> reason, for the groups that cannot be tried."""
        reasons: dict[str, str] = {}
        for history in histories:
            if history.service_rate is None and None in self.service_rates:
                reasons[history.group] = NO_RATE
            elif not self._candidates_of(history):
                reasons[history.group] = NO_FORECASTS
        return reasons

    def trials(self, histories: Iterable[History]) -> list[Trial]:
        """Return all combinations, situation by situation, without the groups of `left_out`.

        Raises:
            OptionError: a combination is invalid, or no group can be tried.
        """
        histories = list(histories)
        left_out = self.left_out(histories)
        known = [history for history in histories if history.group not in left_out]
        if left_out and not known:
            raise _no_group(left_out)
        trials: list[Trial] = []
        seen = set[tuple[object, ...]]()  # a value may be given twice, as 3 and 3.0
        for history, scale, given_rate in itertools.product(known, self.scales, self.service_rates):
            service_rate = given_rate or history.service_rate or 0.0  # never 0: see `left_out`
            for members, surroundings in itertools.product(
                self.members or (usual_members(history, scale, service_rate),),
                _combinations(self.surroundings),
            ):
                for (replicate, churn), candidate in itertools.product(
                    self._churn_of(history, members), self._candidates_of(history)
                ):
                    scenario = Scenario(
                        history=_name(history.group, scale, surroundings),
                        strategy=candidate.strategy,
                        members=members,
                        service_rate=service_rate,
                        churn=churn,
                        pauses=Pauses(
                            **{name: surroundings[name] for name in surroundings if name in _COSTS}
                        ),
                        replan_s=candidate.replan_s,
                        skew=candidate.skew,
                        forecast_delay_s=surroundings.get("forecast_delay_s", FORECAST_DELAY_S),
                        drain_limit_s=surroundings.get("drain_limit_s"),
                    )
                    trial = Trial(len(trials), history.group, scale, scenario, replicate)
                    key = (scenario.history, str(scenario.strategy), members, scenario.script, service_rate)
                    if key not in seen:
                        seen.add(key)
                        trials.append(trial)
        return trials

    def _churn_of(self, history: History, members: int) -> Iterator[tuple[int, tuple[ChurnStep, ...]]]:
        """Yield each churn with the number of its replicate."""
        seen = set[tuple[ChurnStep, ...]]()
        for number, churn in enumerate(self.churn or (usual_churn(history, members),)):
            if self.replicates == 1 or not churn or churn[-1].at >= history.length_s:
                yield 0, churn  # there is nothing to draw, or the scenario will be refused
                continue
            drawn = draws(churn, history.length_s, (self.seed, number))
            for replicate in range(1, self.replicates + 1):
                steps = next(steps for steps in drawn if steps not in seen)
                seen.add(steps)
                yield replicate, steps

    def _candidates_of(self, history: History) -> list[Candidate]:
        """Return the candidates for a history, without those that use forecasts if it has none."""
        return [
            candidate
            for candidate in self.candidates
            if history.expected is not None or not candidate.strategy.by_load
        ]


def draws(
    churn: tuple[ChurnStep, ...], length_s: float, seed: Sequence[int]
) -> Iterator[tuple[ChurnStep, ...]]:
    """Yield endless draws of the times of a churn.

    Each step has an interval, from which its time is drawn uniformly.  The interval begins halfway between
    the previous step and this one, and ends halfway between this step and the next.  The first interval
    begins with the history, and the last one ends with the history.  So the steps stay in order.

    Args:
        churn: at least one step, in the order of times.
        length_s: length of the history, above the time of the last step.
        seed: the same seed gives the same draws.
    """
    random = np.random.default_rng(seed)
    halfway = [(step.at + after.at) / 2 for step, after in itertools.pairwise(churn)]
    narrowest = min(end - start for start, end in itertools.pairwise([0.0, *halfway, length_s]))
    digits = max(3, 2 - math.floor(math.log10(narrowest)))  # milliseconds, or finer for narrow intervals
    while True:
        times = random.uniform([0.0, *halfway], [*halfway, length_s]).tolist()
        steps = tuple(ChurnStep(step.kind, round(at, digits)) for step, at in zip(churn, times, strict=True))
        ascending = [0.0, *(step.at for step in steps), length_s]
        if all(at < after for at, after in itertools.pairwise(ascending)):
            yield steps


def _no_group(left_out: Mapping[str, str]) -> OptionError:
    unmeasured = [group for group, reason in left_out.items() if reason == NO_RATE]
    if not unmeasured:
        return OptionError("load", "the history has no forecasts")
    first, *more = unmeasured
    never = f"{len(unmeasured):,} groups were never" if more else f"group {first!r} was never"
    return OptionError(
        "service_rate",
        f"{never} behind for long enough to measure a service rate: give the records/s a member reads",
    )


def candidates(
    names: Iterable[str], given: Mapping[str, Sequence[Parameter]], *, forecasts: bool
) -> tuple[Candidate, ...]:
    """Combine each strategy with all values of its parameters.

    By default, strategies by lag are tried with and without ``rebalance_on_skew``, and `FED` with and without
    forecasts, if there are any.

    Args:
        names: names of the strategies, or ``module:Class``.
        given: parameter -> values to try, of the strategies' options and of `CHOICES`.
        forecasts: whether any history has forecasts.  On a history without, ``Grid.trials`` tries no
            candidate that uses forecasts.

    Raises:
        OptionError: a parameter has an invalid value, or no strategy has it.
    """
    combined: list[Candidate] = []
    names = list(names)
    for parameter in given:
        if not any(parameter in _parameters_of(name) for name in names):
            raise OptionError(parameter, f"none of {', '.join(names)} has it")
    if not forecasts and "forecast" in given.get("load", ()):
        raise OptionError("load", "the history has no forecasts")
    for name in names:
        tried = {parameter: given[parameter] for parameter in _parameters_of(name) if parameter in given}
        if load_strategy(name).by_lag:
            tried.setdefault("rebalance_on_skew", (False, True))
        if name == FED and forecasts:
            tried.setdefault("load", ("lag", "forecast"))
        combined += [_candidate(name, chosen) for chosen in _combinations(tried)]
    return tuple(combined)


def _parameters_of(name: str) -> list[str]:
    kind = load_strategy(name)
    has_choice = {"load": name == FED, "rebalance_on_skew": kind.by_lag, "replan_s": True}
    return [*plan_options(kind.options_type), *(choice for choice in CHOICES if has_choice[choice])]


def _candidate(name: str, chosen: Mapping[str, Parameter]) -> Candidate:
    options = {parameter: value for parameter, value in chosen.items() if parameter not in CHOICES}
    load, skew, replan_s = (chosen.get(choice) for choice in CHOICES)
    if load is not None:
        one_of("load", load, ("lag", "forecast"))
    if skew is not None:
        boolean("rebalance_on_skew", skew)
    every_s = None if replan_s is None else positive("replan_s", replan_s, "seconds")
    strategy = simulated(name, options, by_load=load == "forecast")
    defaults = {None, False, "lag"}  # not shown
    shown = {choice: value for choice, value in chosen.items() if choice in CHOICES and value not in defaults}
    return Candidate(
        strategy=replace(strategy, parameters={**strategy.parameters, **shown}),
        skew=RebalanceOnSkew() if skew else None,
        replan_s=every_s,
    )


def _combinations(values: Mapping[str, Sequence[T]]) -> list[dict[str, T]]:
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


def _name(group: str, scale: float, surroundings: Mapping[str, float]) -> str:
    """Name a load and its surroundings.  With all digits, different loads get different names."""
    values = [f"{name}={value:.15g}" for name, value in sorted(surroundings.items())]
    return " ".join((group, *[f"x{scale:.15g}"] * (scale != 1), *values))


def usual_members(history: History, scale: float, service_rate: float) -> int:
    """Return 1.3 times the members that the mean load needs; at least 2, but at most one a partition."""
    rate = scale * (history.records - int(history.start_lags.sum())) / history.length_s
    needed = min(_SPARE * rate / service_rate, history.partitions)  # the quotient may be infinite
    return min(max(2, math.ceil(needed)), history.partitions)


def usual_churn(history: History, members: int) -> tuple[ChurnStep, ...]:
    """Return a join, a leave and a kill, evenly spread; no kill for a group of one member."""
    quarter = history.length_s / 4
    digits = max(0, 1 - math.floor(math.log10(quarter)))
    kinds: tuple[Kind, ...] = ("join", "leave", "kill") if members > 1 else ("join", "leave")
    return tuple(ChurnStep(kind, round(number * quarter, digits)) for number, kind in enumerate(kinds, 1))
