"""The recommendation: outcomes in, a ranking of strategies with reasons out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_assignors.errors import ProblemError
from kafka_assignors.simulation.outcome import COSTS, GOALS, NO_DIFFERENCE, Outcome, RankedFigure, Situation
from kafka_assignors.simulation.scenario import Parameter, labelled

SAME_PLACE = "no real difference from "
"""Start of the reason that names the other strategies in the same place."""

_PLACE = re.compile(r"\{.*?\}( s)?")  # the placeholder in ``RankedFigure.words``, with its unit


@dataclass(frozen=True, slots=True)
class Ranked:
    """The place of a strategy.

    Attributes:
        place: from 1; strategies that do not differ share a place.
        strategy: name on the wire.
        parameters: parameters of the strategy.
        reasons: the reasons for its place, a sentence each.
    """

    place: int
    strategy: str
    parameters: Mapping[str, Parameter]
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return labelled(self.strategy, self.parameters)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The ranking.

    Attributes:
        ranking: best first; strategies of one place by name.
        scenarios: number of situations compared.
        notes: remarks on the comparison, a sentence each.
    """

    ranking: tuple[Ranked, ...]
    scenarios: int
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Contender:
    strategy: str
    parameters: Mapping[str, Parameter]
    outcomes: dict[Situation, Outcome] = field(default_factory=dict)
    levels: dict[str, float] = field(default_factory=dict)  # figure -> mean over the situations

    @property
    def label(self) -> str:
        return labelled(self.strategy, self.parameters)


class _Tier(NamedTuple):
    """Contenders that no goal separates.

    Attributes:
        contenders: in the order of names.
        goal: the goal in which they are worse than the tier before; None: the first tier.
        ahead: the best contender before them in that goal, from which each of them differs.
    """

    contenders: list[_Contender]
    goal: RankedFigure | None = None
    ahead: _Contender | None = None


def recommend(outcomes: Sequence[Outcome]) -> Recommendation:
    """Rank strategies (with their parameters) by their outcomes in the same situations.

    Goals decide in the order of ``GOALS``: whether the lag drained at all, time lag, time to recover, time to
    drain, lag, and last the cost of rebalances.  Two strategies are compared by the geometric mean, over
    situations, of the ratios of their figures.  So a group with 1,000 times the lag of another weighs the
    same.  Strategies within ``NO_DIFFERENCE`` of the best in a goal form a tier, in which the next goal
    decides.  The best of the others begins the next tier.  The order of ``outcomes`` does not matter.

    Raises:
        ProblemError: there is no outcome, no situation common to all strategies, or two outcomes of one
            strategy in one situation.
    """
    contenders = _contenders(outcomes)
    if not contenders:
        raise ProblemError("outcomes: there is none to compare")
    every = set[Situation]().union(*(contender.outcomes for contender in contenders))
    common = sorted(set.intersection(*(set(contender.outcomes) for contender in contenders)))
    if not common:
        raise ProblemError("outcomes: there is no situation that all strategies were tried in")
    for contender in contenders:
        contender.outcomes = {situation: contender.outcomes[situation] for situation in common}
        for goal in GOALS:
            levels = map(goal.level, contender.outcomes.values())
            contender.levels[goal.figure] = math.fsum(levels) / len(common)
    tiers = _tiers(contenders, 0)
    ranking: list[Ranked] = []
    for number, tier in enumerate(tiers):
        place = len(ranking) + 1
        before = tiers[number - 1] if number else None
        after = tiers[number + 1] if number + 1 < len(tiers) else None
        ranking += [
            Ranked(
                place=place,
                strategy=contender.strategy,
                parameters=contender.parameters,
                reasons=_reasons(contender, tier, before, after),
            )
            for contender in tier.contenders
        ]
    return Recommendation(tuple(ranking), len(common), _notes(contenders, len(every), len(tiers)))


def _contenders(outcomes: Sequence[Outcome]) -> list[_Contender]:
    contenders: dict[str, _Contender] = {}
    for outcome in outcomes:
        label = labelled(outcome.strategy, outcome.parameters)
        contender = contenders.setdefault(label, _Contender(outcome.strategy, outcome.parameters))
        if outcome.situation in contender.outcomes:
            raise ProblemError(
                f"outcomes: two of {label} for history {outcome.history!r} with the same members, churn and "
                "service rate: other differences must be in the history's name"
            )
        contender.outcomes[outcome.situation] = outcome
    return [contenders[label] for label in sorted(contenders)]


def _tiers(
    contenders: list[_Contender],
    number: int,
    goal_before: RankedFigure | None = None,
    ahead: _Contender | None = None,
) -> list[_Tier]:
    """Split contenders that no earlier goal separates.

    All of them are worse than ``ahead`` in ``goal_before``; both are None for the first tier.
    """
    if number == len(GOALS) or len(contenders) == 1:
        return [_Tier(contenders, goal_before, ahead)]
    goal = GOALS[number]
    rest = sorted(contenders, key=lambda contender: (contender.levels[goal.figure], contender.label))
    tiers: list[_Tier] = []
    while rest:
        best = rest[0]
        alike = [contender for contender in rest if not _differ(goal, best, contender)]
        rest = [contender for contender in rest if _differ(goal, best, contender)]
        alike.sort(key=lambda contender: contender.label)
        tiers += _tiers(alike, number + 1, goal_before, ahead)
        goal_before, ahead = goal, best
    return tiers


def _differ(goal: RankedFigure, contender: _Contender, other: _Contender) -> bool:
    return goal.differs(contender.levels[goal.figure], other.levels[goal.figure])


def _reasons(
    contender: _Contender, tier: _Tier, before: _Tier | None, after: _Tier | None
) -> tuple[str, ...]:
    """Compare a contender to the tiers before and after its own."""
    reasons: list[str] = []
    if before and tier.goal and tier.ahead:
        goal, situation = tier.goal, _clearest(tier.goal, tier.ahead, contender)
        reason = _compared(goal, contender, tier.ahead, situation)
        above = before.contenders[0]
        if not _differ(goal, contender, above):
            reason += f" (on average less than {NO_DIFFERENCE:.0%} from {above.label} in the place above, "
            reason += f"which has {_value(goal, above, situation)})"
        reasons.append(reason)
    if after and after.goal and after.ahead:
        goal, other = after.goal, after.contenders[0]
        if _differ(goal, contender, other):
            reasons.append(_compared(goal, contender, other, _clearest(goal, contender, other)))
        else:
            situation = _clearest(goal, after.ahead, other)
            reason = _compared(goal, contender, other, situation)
            ahead = f"{after.ahead.label} ({_value(goal, after.ahead, situation)})"
            reason += f": on average less than {NO_DIFFERENCE:.0%} apart, "
            reasons.append(f"{reason}but {other.label} is further behind {ahead}")
        for cost in GOALS:
            is_worse = contender.levels[cost.figure] > other.levels[cost.figure]
            if cost.figure in COSTS and is_worse and _differ(cost, contender, other):
                reasons.append("but " + _compared(cost, contender, other, _clearest(cost, other, contender)))
    if others := [other.label for other in tier.contenders if other is not contender]:
        reasons.append(SAME_PLACE + ", ".join(others))
    return tuple(reasons)


def _clearest(goal: RankedFigure, better: _Contender, worse: _Contender) -> Situation:
    """Return the situation with the largest ratio of the two figures."""
    return max(
        better.outcomes,
        key=lambda situation: goal.level(worse.outcomes[situation]) - goal.level(better.outcomes[situation]),
    )


def _compared(goal: RankedFigure, contender: _Contender, other: _Contender, situation: Situation) -> str:
    """Compare two contenders in one situation, and count the situations in which each is better."""
    figure = _PLACE.sub(_value(goal, contender, situation), goal.words)
    comparison = f"{figure}, {_value(goal, other, situation)} for {other.label}"
    if goal.least is None or len(contender.outcomes) == 1:
        return comparison
    levels = [
        (goal.level(outcome), goal.level(other.outcomes[situation]))
        for situation, outcome in contender.outcomes.items()
    ]
    better = sum(goal.differs(level, other_level) for level, other_level in levels if level < other_level)
    worse = sum(goal.differs(level, other_level) for level, other_level in levels if level > other_level)
    counts = {"better": better, "worse": worse}
    first, then = "better", "worse"
    if contender.levels[goal.figure] > other.levels[goal.figure]:
        first, then = then, first
    counted = f"{first} in {counts[first]:,} of {len(levels):,} situations"
    if counts[then]:
        counted += f", {then} in {counts[then]:,}"
    return f"{comparison} in {_name(situation, list(contender.outcomes))} ({counted})"


def _value(goal: RankedFigure, contender: _Contender, situation: Situation) -> str:
    """Format the figure in a situation, with its unit.

    For a yes-or-no figure, the value is the share of situations with yes.  The time until an event that did
    not occur is "unknown time".
    """
    outcome = contender.outcomes[situation]
    figure = contender.levels[goal.figure] if goal.least is None else goal.of(outcome)
    value = next(_PLACE.finditer(goal.words))[0].format(figure)
    return "unknown time" if getattr(outcome, goal.figure, 0) is None else value


def _name(situation: Situation, every: Sequence[Situation]) -> str:
    """Name a situation by its history and its differences from others of the same history."""
    alike = [other for other in every if other.history == situation.history]
    parts = {
        "members": f"{situation.members} member{'s' * (situation.members != 1)}",
        "churn": f"churn {situation.churn or 'none'}",
        "service_rate": f"{situation.service_rate:,.1f} records/s each",
    }
    different = [
        words for field, words in parts.items() if len({getattr(other, field) for other in alike}) > 1
    ]
    return ", ".join((situation.history, *different))


def _notes(contenders: list[_Contender], every: int, tiers: int) -> tuple[str, ...]:
    notes: list[str] = []
    common = len(contenders[0].outcomes)
    if every > common:
        notes.append(f"{every - common} of {every} situations do not count: not tried with every strategy")
    if tiers == 1 and len(contenders) > 1:
        notes.append("the strategies do not really differ here")
    if common == 1:
        notes.append("one situation is little to judge by")
    if all(contender.levels["never_drained"] for contender in contenders):
        notes.append("no strategy drains the lag in every situation: more members or faster ones are needed")
    return tuple(notes)
