"""Pure: what is to be tried out, as a list of trials: groups x candidates x members x churn x surroundings.

A *candidate* is what one can choose: a strategy with its parameters, and when rebalances are asked for.  The
rest is the *situation*: the load, the members, what happens to them, what a rebalance costs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from kafka_assignors.errors import OptionError
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.plan.load.skew import RebalanceOnSkew
from kafka_assignors.simulation import History, Pauses, Scenario, Step, Strategy
from kafka_assignors.simulation.churn import Kind
from kafka_assignors.simulation.scenario import Parameter
from kafka_assignors.strategies import STRATEGIES

__all__ = [
    "CHOICES",
    "FED",
    "NO_FORECASTS",
    "NO_RATE",
    "SURROUNDINGS",
    "Candidate",
    "Grid",
    "Trial",
    "candidates",
    "usual_churn",
    "usual_members",
]

T = TypeVar("T")

FED = "cooperative-lag-aware"
"""The strategy that can be fed forecasts."""

CHOICES = ("load", "rebalance_on_skew", "replan_s")
"""What can be chosen beside the strategies' own options.

``load``: ``lag`` or ``forecast``, for the one that can be fed.  ``rebalance_on_skew``: true or false, for
those that plan by lag.  ``replan_s``: seconds between two rebalances for their own sake, or null.
"""

SURROUNDINGS = (*(one.name for one in fields(Pauses)), "drain_limit_s")
"""What a rebalance costs (see ``Pauses``), and how long to go on after the end; not a matter of choice."""

NO_RATE = "its members never had more to read than they could: give --service-rate"
NO_FORECASTS = "it has no forecasts"
"""Why a group is left out."""

_SPARE = 1.3
"""Times the members that the mean load needs, when nobody says how many there are."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A strategy with its parameters, and when rebalances are asked for.

    Attributes:
        strategy: its ``parameters`` name all that was chosen for the candidate.
        skew: when the leader asks for a rebalance because the lag is unevenly shared; None: never.
        replan_s: seconds between two rebalances for their own sake; None: none.
    """

    strategy: Strategy
    skew: RebalanceOnSkew | None = None
    replan_s: float | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One scenario of a back-test, and one task on Spark.

    Attributes:
        number: from 0.
        group: whose history.
        scale: times the records that arrived.
        scenario: what is simulated.
    """

    number: int
    group: str
    scale: float
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class Grid:
    """What to try out; the trials are all combinations.

    Attributes:
        candidates: the choices.
        members: at the start; empty: `usual_members`.
        churn: the scripts; empty: `usual_churn`.
        scales: times the records that arrived.
        service_rates: records/s of one member; None: the history's.
        surroundings: name -> values, see `SURROUNDINGS`.
    """

    candidates: tuple[Candidate, ...]
    members: tuple[int, ...] = ()
    churn: tuple[tuple[Step, ...], ...] = ()
    scales: tuple[float, ...] = (1.0,)
    service_rates: tuple[float | None, ...] = (None,)
    surroundings: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def left_out(self, histories: Iterable[History]) -> dict[str, str]:
        """Groups that cannot be tried, each with the reason."""
        found: dict[str, str] = {}
        for history in histories:
            if history.service_rate is None and None in self.service_rates:
                found[history.group] = NO_RATE
            elif not self._candidates_of(history):
                found[history.group] = NO_FORECASTS
        return found

    def trials(self, histories: Iterable[History]) -> list[Trial]:
        """All combinations, those of one situation beside each other; none of groups that are left out.

        Raises:
            OptionError: a combination makes no sense, or there is no group that can be tried.
        """
        histories = list(histories)
        left_out = self.left_out(histories)
        known = [history for history in histories if history.group not in left_out]
        if left_out and not known:
            raise _not_one(left_out)
        loads = [
            (history, scale, speed)
            for history, scale, rate in itertools.product(known, self.scales, self.service_rates)
            if (speed := rate or history.service_rate)
        ]
        found: list[Trial] = []
        for history, scale, speed in loads:
            for members, around in itertools.product(
                self.members or (usual_members(history, scale, speed),), _combinations(self.surroundings)
            ):
                for churn, candidate in itertools.product(
                    self.churn or (usual_churn(history, members),), self._candidates_of(history)
                ):
                    scenario = Scenario(
                        history=_called(history.group, scale, around),
                        strategy=candidate.strategy,
                        members=members,
                        service_rate=speed,
                        churn=churn,
                        pauses=Pauses(**{name: value for name, value in around.items() if name in _COSTS}),
                        replan_s=candidate.replan_s,
                        skew=candidate.skew,
                        drain_limit_s=around.get("drain_limit_s"),
                    )
                    found.append(Trial(len(found), history.group, scale, scenario))
        return found

    def _candidates_of(self, history: History) -> list[Candidate]:
        """Those that can be tried on it: without forecasts nobody can be fed any."""
        return [one for one in self.candidates if history.expected is not None or not one.strategy.by_load]


def _not_one(left_out: Mapping[str, str]) -> OptionError:
    """Nothing is left to try."""
    if NO_RATE not in left_out.values():
        return OptionError("load", "the history has no forecasts")
    one, *more = left_out
    never = f"none of {len(left_out):,} groups was" if more else f"group {one!r} was never"
    return OptionError(
        "service_rate",
        f"{never} busy for long, so the history does not tell: say how many records/s a member reads",
    )


_COSTS = frozenset(one.name for one in fields(Pauses))


def candidates(
    names: Iterable[str], given: Mapping[str, Sequence[Parameter]], *, forecasts: bool
) -> tuple[Candidate, ...]:
    """Each strategy with each combination of those parameters that it has.

    Where nothing is said, strategies that plan by lag are tried with and without ``rebalance_on_skew``, and
    the one that can be fed forecasts with and without those, if there are any.

    Args:
        names: of the strategies.
        given: parameter -> values to try, of the strategies' options and of `CHOICES`.
        forecasts: whether any history has some; see ``Grid.trials`` for those that have none.

    Raises:
        OptionError: a parameter has a value it cannot have, or is no strategy's.
    """
    found: list[Candidate] = []
    names = list(names)
    for parameter in given:
        if not any(parameter in _parameters_of(name) for name in names):
            raise OptionError(parameter, f"none of {', '.join(names)} has it")
    if not forecasts and "forecast" in given.get("load", ()):
        raise OptionError("load", "the history has no forecasts")
    for name in names:
        tried = {parameter: given[parameter] for parameter in _parameters_of(name) if parameter in given}
        if STRATEGIES[name].by_lag:
            tried.setdefault("rebalance_on_skew", (False, True))
        if name == FED and forecasts:
            tried.setdefault("load", ("lag", "forecast"))
        found += [_candidate(name, chosen) for chosen in _combinations(tried)]
    return tuple(found)


def _parameters_of(name: str) -> list[str]:
    kind = STRATEGIES[name]
    chosen = {"load": name == FED, "rebalance_on_skew": kind.by_lag, "replan_s": True}
    options = [one.name for one in fields(kind.options_type) if "plans" in one.metadata]
    return [*options, *(choice for choice in CHOICES if chosen[choice])]


def _candidate(name: str, chosen: Mapping[str, Parameter]) -> Candidate:
    options = {parameter: value for parameter, value in chosen.items() if parameter not in CHOICES}
    load, skew, replan_s = (chosen.get(choice) for choice in CHOICES)
    if load not in {None, "lag", "forecast"}:
        raise OptionError("load", f"{load!r} is not one of lag, forecast")
    if skew not in {None, True, False} or (isinstance(skew, (int, float)) and not isinstance(skew, bool)):
        raise OptionError("rebalance_on_skew", f"{skew!r} is not one of true, false")
    if replan_s is not None and (isinstance(replan_s, (bool, str)) or not 0 < replan_s < math.inf):
        raise OptionError("replan_s", f"{replan_s!r} is not a number of seconds above 0, or null")
    strategy = simulated(name, options, by_load=load == "forecast")
    usual = {None, False, "lag"}  # goes without saying
    told = {choice: value for choice, value in chosen.items() if choice in CHOICES and value not in usual}
    return Candidate(
        strategy=replace(strategy, parameters={**strategy.parameters, **told}),
        skew=RebalanceOnSkew() if skew else None,
        replan_s=replan_s,
    )


def _combinations(values: Mapping[str, Sequence[T]]) -> list[dict[str, T]]:
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


def _called(group: str, scale: float, around: Mapping[str, float]) -> str:
    """Name a load and its surroundings, for whoever compares outcomes of one situation."""
    more = [f"x{scale:g}"] * (scale != 1) + [f"{name}={value:g}" for name, value in sorted(around.items())]
    return " ".join((group, *more))


def usual_members(history: History, scale: float, service_rate: float) -> int:
    """As many as the mean load needs, with some to spare; two at least, and no more than partitions."""
    rate = scale * history.records / history.length_s
    return max(2, min(math.ceil(_SPARE * rate / service_rate), history.partitions))


def usual_churn(history: History, members: int) -> tuple[Step, ...]:
    """One member joins, one leaves, one is killed, evenly spread; of a group of one nobody is killed."""
    quarter = history.length_s / 4
    digits = max(0, 1 - math.floor(math.log10(quarter)))
    kinds: tuple[Kind, ...] = ("join", "leave", "kill") if members > 1 else ("join", "leave")
    return tuple(Step(kind, round(place * quarter, digits)) for place, kind in enumerate(kinds, 1))
