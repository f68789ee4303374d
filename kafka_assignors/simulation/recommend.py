"""Which strategy to pick, and why: outcomes in, a ranking with its reasons out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_assignors.errors import ProblemError
from kafka_assignors.simulation.goals import COSTS, GOALS, NO_DIFFERENCE, Goal
from kafka_assignors.simulation.outcome import Outcome, Situation
from kafka_assignors.simulation.scenario import Parameter, labelled

__all__ = ["Ranked", "Recommendation", "recommend"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A strategy's place.

    Attributes:
        place: from 1; the same for those that do not differ.
        strategy: name on the wire.
        parameters: its own.
        reasons: why it is there, a sentence each.
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
        ranking: best first; of those with the same place the first by name.
        scenarios: how many situations each strategy was judged by.
        notes: what to know beside it, a sentence each.
    """

    ranking: tuple[Ranked, ...]
    scenarios: int
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> tuple[Ranked, ...]:
        """Those in first place."""
        return tuple(one for one in self.ranking if one.place == 1)


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
    """Those that no goal tells apart.

    Attributes:
        contenders: in the order of names.
        goal: in which they are worse than the tiers before; None: there is none before.
        than: the best of those before in that goal; each of these differs from it.
    """

    contenders: list[_Contender]
    goal: Goal | None = None
    than: _Contender | None = None


def recommend(outcomes: Sequence[Outcome]) -> Recommendation:
    """Rank strategies (with their parameters) by what came of them in the same situations.

    Goal by goal, in the order of what hurts most: worked off at all, time lag, time to recover, to drain,
    lag, and only then what rebalances cost.  Two strategies are compared situation by situation, by the
    ratio of their figures; the geometric mean of these ratios is what counts, so that a group with 1,000
    times the lag of another has no more say.  Of a goal, those that come close enough to the best
    (``NO_DIFFERENCE``) are as good, and the next goal decides among them; the best of the others begins the
    next tier, and so on.  The order of ``outcomes`` has no say.

    Raises:
        ProblemError: there is no outcome, no situation that all strategies were tried in, or two outcomes of
            one strategy in one situation.
    """
    contenders = _contenders(outcomes)
    if not contenders:
        raise ProblemError("outcomes: there is none to recommend by")
    every = set[Situation]().union(*(one.outcomes for one in contenders))
    common = sorted(set.intersection(*(set(one.outcomes) for one in contenders)))
    if not common:
        raise ProblemError("outcomes: there is no situation that all strategies were tried in")
    for one in contenders:
        one.outcomes = {situation: one.outcomes[situation] for situation in common}
        for goal in GOALS:
            levels = map(goal.level, one.outcomes.values())
            one.levels[goal.figure] = math.fsum(levels) / len(common)
    tiers = _tiers(contenders, 0)
    ranking: list[Ranked] = []
    for number, tier in enumerate(tiers):
        place = len(ranking) + 1
        after = tiers[number + 1] if number + 1 < len(tiers) else None
        before = tiers[number - 1] if number else None
        ranking += [
            Ranked(
                place=place,
                strategy=one.strategy,
                parameters=one.parameters,
                reasons=_reasons(one, tier, before, after),
            )
            for one in tier.contenders
        ]
    return Recommendation(tuple(ranking), len(common), _notes(contenders, len(every), len(tiers)))


def _contenders(outcomes: Sequence[Outcome]) -> list[_Contender]:
    found: dict[str, _Contender] = {}
    for outcome in outcomes:
        label = labelled(outcome.strategy, outcome.parameters)
        one = found.setdefault(label, _Contender(outcome.strategy, outcome.parameters))
        if outcome.situation in one.outcomes:
            raise ProblemError(
                f"outcomes: two of {label} for history {outcome.history!r} with the same members, churn and "
                "service rate: what else differs has to be in the history's name"
            )
        one.outcomes[outcome.situation] = outcome
    return [found[label] for label in sorted(found)]


def _tiers(
    contenders: list[_Contender],
    number: int,
    goal_before: Goal | None = None,
    than: _Contender | None = None,
) -> list[_Tier]:
    """Split those that all earlier goals could not tell apart.

    Args:
        contenders: some, in the order of names.
        number: the goal to begin with.
        goal_before: in which all of them are worse than what comes before them; None: nothing does.
        than: the best of that.
    """
    if number == len(GOALS) or len(contenders) == 1:
        return [_Tier(contenders, goal_before, than)]
    goal = GOALS[number]
    rest = sorted(contenders, key=lambda one: (one.levels[goal.figure], one.label))
    tiers: list[_Tier] = []
    while rest:
        best = rest[0]
        alike = [one for one in rest if not _differ(goal, best, one)]
        rest = [one for one in rest if _differ(goal, best, one)]
        tiers += _tiers(sorted(alike, key=lambda one: one.label), number + 1, goal_before, than)
        goal_before, than = goal, best
    return tiers


def _differ(goal: Goal, one: _Contender, other: _Contender) -> bool:
    return goal.apart(one.levels[goal.figure], other.levels[goal.figure])


def _reasons(one: _Contender, tier: _Tier, before: _Tier | None, after: _Tier | None) -> tuple[str, ...]:
    """Why it is not in the place above, why it is not in the one below, and what that costs."""
    found: list[str] = []
    if before and tier.goal and tier.than:
        goal, where = tier.goal, _telling(tier.goal, tier.than, one)
        above = before.contenders[0]
        close = ""  # to add where the one right above is not what it was split from, and hardly better
        if not _differ(goal, one, above):
            close = f" (less than {NO_DIFFERENCE:.0%} from {above.label} in the place above: "
            close += f"{_value(goal, above, where)})"
        found.append(_beside(goal, one, tier.than, where) + close)
    if after and after.goal and after.than:
        goal, other = after.goal, after.contenders[0]
        if _differ(goal, one, other):
            found.append(_beside(goal, one, other, _telling(goal, one, other)))
        else:
            where = _telling(goal, after.than, other)
            said = _beside(goal, one, other, where)
            than = f"{_value(goal, after.than, where)} for {after.than.label}"
            said += f": less than {NO_DIFFERENCE:.0%} apart, but {other.label} is further from {than}"
            found.append(said)
        for cost in GOALS:
            worse = one.levels[cost.figure] > other.levels[cost.figure]
            if cost.figure in COSTS and worse and _differ(cost, one, other):
                found.append("but " + _beside(cost, one, other, _telling(cost, other, one)))
    if others := [other.label for other in tier.contenders if other is not one]:
        found.append(f"no real difference to {', '.join(others)}")
    return tuple(found)


def _telling(goal: Goal, better: _Contender, worse: _Contender) -> Situation:
    """The situation that tells most why one is the better one."""
    return max(
        better.outcomes,
        key=lambda at: goal.level(worse.outcomes[at]) - goal.level(better.outcomes[at]),
    )


def _beside(goal: Goal, one: _Contender, other: _Contender, where: Situation) -> str:
    """Both in figures, of one situation, and in how many it is so."""
    figure = goal.words.format(_figure(goal, one, where))
    said = f"{figure}, {_value(goal, other, where)} for {other.label}"
    if goal.least is None or len(one.outcomes) == 1:
        return said
    levels = [(goal.level(mine), goal.level(other.outcomes[at])) for at, mine in one.outcomes.items()]
    better = sum(goal.apart(mine, its) for mine, its in levels if mine < its)
    worse = sum(goal.apart(mine, its) for mine, its in levels if mine > its)
    counts = {"better": better, "worse": worse}
    first, then = "better", "worse"
    if one.levels[goal.figure] > other.levels[goal.figure]:
        first, then = then, first
    but = f", {then} in {counts[then]:,}" if counts[then] else ""
    often = f"{first} in {counts[first]:,} of {len(levels):,} situations{but}"
    return f"{said} in {_called(where, list(one.outcomes))} ({often})"


def _figure(goal: Goal, one: _Contender, where: Situation) -> float:
    """Of that situation; what is there or not is told as a part of all."""
    return one.levels[goal.figure] if goal.least is None else goal.of(one.outcomes[where])


def _value(goal: Goal, one: _Contender, where: Situation) -> str:
    """The figure alone, as ``words`` shows it."""
    shape = goal.words[goal.words.index("{") : goal.words.index("}") + 1]
    unit = " s" if "} s" in goal.words else ""
    return shape.format(_figure(goal, one, where)) + unit


def _called(where: Situation, every: Sequence[Situation]) -> str:
    """Name a situation by what tells it from those with the same load."""
    alike = [one for one in every if one.history == where.history]
    parts = {
        "members": f"{where.members} members",
        "churn": f"churn {where.churn or 'none'}",
        "service_rate": f"{where.service_rate:,.1f} records/s each",
    }
    telling = [words for name, words in parts.items() if len({getattr(one, name) for one in alike}) > 1]
    return ", ".join((where.history, *telling))


def _notes(contenders: list[_Contender], every: int, tiers: int) -> tuple[str, ...]:
    found: list[str] = []
    common = len(contenders[0].outcomes)
    if every > common:
        found.append(f"{every - common} situations were not tried with every strategy and do not count")
    if tiers == 1 and len(contenders) > 1:
        found.append("it makes no real difference which of them is used here")
    if common == 1:
        found.append("one situation is little to judge by")
    if all(one.levels["never_drained"] for one in contenders):
        found.append("no strategy works off every situation: more members or faster ones are needed")
    return tuple(found)
