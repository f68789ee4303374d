"""Which strategy to pick, and why: outcomes in, a ranking with its reasons out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_assignors.backtest.outcome import Outcome, Situation
from kafka_assignors.backtest.scenario import Parameter, labelled
from kafka_assignors.errors import ProblemError

__all__ = ["NO_DIFFERENCE", "Ranked", "Recommendation", "recommend"]

NO_DIFFERENCE = 0.15
"""Figures that differ by less than this part of the larger one do not differ: simulated runs come so close to
measured ones, and not closer."""


class _Goal(NamedTuple):
    """What is to be small.

    Attributes:
        figure: its name in `Ranked.means`.
        of: an outcome's.
        least: less than this is no difference either.
        words: what it is called, with a place for its value.
    """

    figure: str
    of: Callable[[Outcome], float]
    least: float
    words: str


def _time(seconds: float | None, outcome: Outcome) -> float:
    """One that never came counts as all the time there was."""
    return outcome.simulated_s if seconds is None else seconds


_GOALS = (
    _Goal("never_drained", lambda o: float(o.drain_s is None), 0.0, "{:.0%} of scenarios never worked off"),
    _Goal("time_lag_p99", lambda o: o.time_lag_p99, 0.5, "time lag (p99) {:,.1f} s"),
    _Goal("recovery_s", lambda o: _time(o.recovery_s, o), 1.0, "{:,.1f} s until the lag is gone again"),
    _Goal("drain_s", lambda o: _time(o.drain_s, o), 1.0, "drained in {:,.1f} s"),
    _Goal(
        "largest_member_lag", lambda o: o.largest_member_lag, 10.0, "largest lag of a member {:,.0f} records"
    ),
    _Goal("mean_lag", lambda o: o.mean_lag, 10.0, "mean lag {:,.0f} records"),
    _Goal("pause_s", lambda o: o.pause_s, 1.0, "members paused for {:,.1f} s"),
    _Goal("r_score", lambda o: o.r_score, 0.05, "R-score {:,.2f}"),
    _Goal("moved", lambda o: float(o.moved), 0.5, "{:,.1f} partitions moved"),
)
"""In the order in which they decide."""

_COSTS = frozenset({"pause_s", "r_score", "moved"})


@dataclass(frozen=True, slots=True)
class Ranked:
    """A strategy's place.

    Attributes:
        place: from 1; the same for those that do not differ.
        strategy: name on the wire.
        parameters: its own.
        means: figure -> mean over the scenarios.
        reasons: why it is there, a sentence each.
    """

    place: int
    strategy: str
    parameters: Mapping[str, Parameter]
    means: Mapping[str, float]
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return labelled(self.strategy, self.parameters)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The ranking.

    Attributes:
        ranking: best first; of those with the same place the first by name.
        scenarios: how many each strategy was judged by.
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
    means: dict[str, float] = field(default_factory=dict)

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
    goal: _Goal | None = None
    than: _Contender | None = None


def recommend(outcomes: Sequence[Outcome]) -> Recommendation:
    """Rank strategies (with their parameters) by what came of them in the same scenarios.

    Goal by goal, in the order of what hurts most: worked off at all, time lag, time to recover, to drain,
    lag, and only then what rebalances cost.  Each figure is its mean over the scenarios.  Of a goal, those
    that come close enough to the best (``NO_DIFFERENCE``) are as good, and the next goal decides among them;
    the best of the others begins the next tier, and so on.  The order of ``outcomes`` has no say.

    Raises:
        ProblemError: there is no outcome, no scenario that all strategies were tried in, or two outcomes of
            one strategy in one scenario.
    """
    contenders = _contenders(outcomes)
    if not contenders:
        raise ProblemError("outcomes: there is none to recommend by")
    common = set.intersection(*(set(one.outcomes) for one in contenders))
    if not common:
        raise ProblemError("outcomes: there is no scenario that all strategies were tried in")
    for one in contenders:
        of_common = [one.outcomes[key] for key in sorted(common)]
        one.means = {goal.figure: sum(map(goal.of, of_common)) / len(common) for goal in _GOALS}
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
                means=one.means,
                reasons=_reasons(one, tier, before, after),
            )
            for one in tier.contenders
        ]
    return Recommendation(tuple(ranking), len(common), _notes(contenders, common, tiers))


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
    goal_before: _Goal | None = None,
    than: _Contender | None = None,
) -> list[_Tier]:
    """Split those that all earlier goals could not tell apart.

    Args:
        contenders: some, in the order of names.
        number: the goal to begin with.
        goal_before: in which all of them are worse than what comes before them; None: nothing does.
        than: the best of that.
    """
    if number == len(_GOALS) or len(contenders) == 1:
        return [_Tier(contenders, goal_before, than)]
    goal = _GOALS[number]
    rest = sorted(contenders, key=lambda one: (one.means[goal.figure], one.label))
    tiers: list[_Tier] = []
    while rest:
        best = rest[0]
        alike = [one for one in rest if not _differ(goal, best, one)]
        rest = [one for one in rest if _differ(goal, best, one)]
        tiers += _tiers(sorted(alike, key=lambda one: one.label), number + 1, goal_before, than)
        goal_before, than = goal, best
    return tiers


def _differ(goal: _Goal, one: _Contender, other: _Contender) -> bool:
    low, high = sorted((one.means[goal.figure], other.means[goal.figure]))
    return high - low > max(goal.least, NO_DIFFERENCE * high if goal.figure != "never_drained" else 0.0)


def _reasons(one: _Contender, tier: _Tier, before: _Tier | None, after: _Tier | None) -> tuple[str, ...]:
    """Why it is not in the place above, why it is not in the one below, and what that costs."""
    found: list[str] = []
    if before and tier.goal and tier.than:
        said = f"{_said(tier.goal, one)}, {_value(tier.goal, tier.than)} for {tier.than.label}"
        found.append(said + _close(tier.goal, one, before.contenders[0]))
    if after and after.goal and after.than:
        other = after.contenders[0]
        said = f"{_said(after.goal, one)}, {_value(after.goal, other)} for {other.label}"
        if not _differ(after.goal, one, other):
            than = f"{_value(after.goal, after.than)} for {after.than.label}"
            said += f": less than {NO_DIFFERENCE:.0%} apart, but {other.label} is further from {than}"
        found.append(said)
        for cost in _GOALS:
            worse = one.means[cost.figure] > other.means[cost.figure]
            if cost.figure in _COSTS and worse and _differ(cost, one, other):
                found.append(f"but {_said(cost, one)}, {_value(cost, other)} for {other.label}")
    if others := [other.label for other in tier.contenders if other is not one]:
        found.append(f"no real difference to {', '.join(others)}")
    return tuple(found)


def _close(goal: _Goal, one: _Contender, above: _Contender) -> str:
    """To add where the one right above is not what it was split from, and hardly better."""
    if _differ(goal, one, above):
        return ""
    return f" (less than {NO_DIFFERENCE:.0%} from {above.label} in the place above: {_value(goal, above)})"


def _said(goal: _Goal, one: _Contender) -> str:
    return goal.words.format(one.means[goal.figure])


def _value(goal: _Goal, one: _Contender) -> str:
    """The figure alone, as ``words`` shows it."""
    shape = goal.words[goal.words.index("{") : goal.words.index("}") + 1]
    unit = " s" if "} s" in goal.words else ""
    return shape.format(one.means[goal.figure]) + unit


def _notes(contenders: list[_Contender], common: set[Situation], tiers: list[_Tier]) -> tuple[str, ...]:
    found: list[str] = []
    every = set[Situation]().union(*(one.outcomes for one in contenders))
    if left_out := len(every) - len(common):
        found.append(f"{left_out} scenarios were not tried with every strategy and do not count")
    if len(tiers) == 1 and len(contenders) > 1:
        found.append("it makes no real difference which of them is used here")
    if len(common) == 1:
        found.append("one scenario is little to judge by")
    if all(one.means["never_drained"] for one in contenders):
        found.append("no strategy works off every scenario: more members or faster ones are needed")
    return tuple(found)
