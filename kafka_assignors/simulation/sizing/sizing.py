"""Sizes of a group by step, and the size it should have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kafka_assignors.plan import NO_MEMBER
from kafka_assignors.simulation.history import Counts, History
from kafka_assignors.simulation.scenario import Strategy
from kafka_assignors.simulation.sizing.cost import Cost, PresentGroup, renumbered, with_arrivals
from kafka_assignors.simulation.sizing.least import LatePartition, Least, Search
from kafka_assignors.simulation.sizing.target import (
    HotPartition,
    Target,
    hot_partitions,
    limits,
    usable_rate,
)
from kafka_assignors.simulation.sizing.trials import SizeTrials

DOWN_MARGIN = 0.1
"""A group shrinks only to a size that would be enough even if members were slower by this part.  So a load
that hovers around the limit of a size does not make the group grow and shrink in turn."""

REPLAN_PART = 0.25
"""After a group grew because of an old plan, it does not grow for that reason again for this part of the
horizon.  The new plan may be old, too, because the leader smooths arrivals over minutes."""

_LASTS = 10
"""A load lasts for at least this many times the target, long enough to show that a group falls behind."""


@dataclass(frozen=True, slots=True)
class StepSize:
    """The size a step needs.

    Attributes:
        starts_s: seconds from now.
        arriving: records/s of all partitions.
        least: the least number of members.
    """

    starts_s: float
    arriving: float
    least: Least


@dataclass(frozen=True, slots=True)
class Sizing:
    """The sizes of a group.

    Attributes:
        target: the time lag to hold.
        rate: records/s of a newcomer.
        fastest_rate: records/s of the fastest member.
        members: the present size; None: unknown.
        advised: the size the group should have now.
        steps: sizes by step.
        horizon: the least size that holds the target over the whole horizon without another scaling.
        hot: partitions whose arrivals are too much for one member with its headroom.  Sizes count only those
            of their records that a member without other partitions reads in time.
        behind: number of partitions whose present lag a member does not read in time, even without other
            partitions.
        missed: the partition that waits too long with the advised size, and with any larger one.  None: there
            is none.
        old_plan: the partition that waits too long with its present owner, though a new plan of the present
            size would hold the target.  With ``may_replan`` a larger size is then advised, because a member
            that joins makes the strategy plan.  None: there is none, or the owners are unknown.
        stay: the cost of the present size; None: unknown.
        scale: the cost of the advised size; None: it is the present size, or the present size is unknown.
    """

    target: Target
    rate: float
    fastest_rate: float
    members: int | None
    advised: int
    steps: tuple[StepSize, ...]
    horizon: Least
    hot: tuple[HotPartition, ...] = ()
    behind: int = 0
    missed: LatePartition | None = None
    old_plan: LatePartition | None = None
    stay: Cost | None = None
    scale: Cost | None = None

    @property
    def is_right(self) -> bool:
        """Whether the present size is the advised one."""
        return self.members == self.advised

    @property
    def holds(self) -> bool:
        """Whether the advised size holds the target, once present lag has been read.

        A hot partition counts as held if one member reads it in time without headroom.
        """
        return all(hot.held for hot in self.hot) and self.missed is None


def size(
    history: History,
    strategy: Strategy,
    target: Target,
    *,
    members: int | None = None,
    owners: Counts | None = None,
    stay_at: int | None = None,
    may_replan: bool = True,
    capacities: Sequence[float] = (),
) -> Sizing:
    """Return sizes of a group: least numbers of members with which no record waits longer than the target.

    - The size of the horizon is the least that holds the target from now to its end, the present lag
      included.  A horizon shorter than ``_LASTS`` targets is prolonged to that, with its last arrivals.
    - The size of a step is the least that would hold the target if the step's arrivals lasted as long as the
      horizon.  In the first step the present lag must be read, too.  A step's size is never more than the
      horizon's.
    - The advised size is at least that of each of the first two steps, so that the group grows one step
      ahead.  It shrinks only to a size that holds the target over the whole horizon with ``DOWN_MARGIN``.
      Otherwise it stays.  The advised size is tried as well, because a larger group may be worse: under
      ``range`` neighbours may get the same member, and fewer partitions are left for fast members.
    - The present plan may be too old (``Sizing.old_plan``).  With ``may_replan`` the advised size is then
      larger than the present one.

    Cost: some simulations (``simulate``) for each different load of a step.

    Args:
        history: present lag and expected arrivals; its steps are those of the horizon.  Its service rate is
            that of a member of capacity 1.
        strategy: the group's strategy.
        target: the time lag to hold.
        members: number of members now, from 1; None: unknown, so ``stay_at`` or the horizon's size counts.
        owners: by partition, its present owner, as a number from 0 to below ``members``; None: unknown.
        stay_at: the size to keep if it is right, such as the one advised last.  So members that are starting
            or have crashed do not change the advice.  None: ``members``.
        may_replan: whether an old plan is a reason to grow.  If not, it is one to keep ``stay_at`` members.
        capacities: by member; empty: all 1.  A newcomer has their median.  If the group shrinks,
            the fastest members are assumed to leave.

    Raises:
        OptionError: the history has no service rate.
    """
    if owners is not None and (owners == NO_MEMBER).any():
        owners = None  # the next rebalance plans them anyway
    capacities = list(capacities) or [1.0] * (members or 0)
    ascending = np.argsort(capacities, kind="stable")
    trials = SizeTrials(strategy, members, *renumbered(ascending, owners, capacities))
    search = Search(trials, target)
    rate = usable_rate(history, target) * trials.fastest
    by_fastest = replace(history, service_rate=trials.fastest * (history.service_rate or 0.0))
    lasting = _lasting(by_fastest, target)
    horizon = search.least(lasting, rate)
    known: dict[bytes, Least] = {}
    steps: list[StepSize] = []
    loads = [_repeated(by_fastest, number, lasting.length_s) for number in range(history.steps)]
    for number, (step, arrivals) in enumerate(zip(loads, history.arrivals, strict=True)):
        key = step.start_lags.tobytes() + step.arrivals.tobytes()
        if key not in known:
            known[key] = search.least(step, rate, most=horizon.members)
        steps.append(StepSize(number * history.step_s, float(arrivals.sum()) / history.step_s, known[key]))
    advised = horizon.members
    stay_at = members if stay_at is None else stay_at
    if stay_at is not None:
        lower = max(step.least.members for step in steps[:2])
        advised = max(stay_at, lower)
        if stay_at > horizon.members:
            shrunk = search.least(lasting, rate * (1 - DOWN_MARGIN)).members
            # ``shrunk`` may be below ``horizon.members``: fewer members may have the better plan.
            advised = min(stay_at, max(shrunk, lower, horizon.members))
    missed = horizon.missed
    if advised > horizon.members:
        least = search.least(lasting, rate, at_least=advised)
        advised, missed = least.members, missed or least.missed
    elif advised < horizon.members:
        advised = max(search.least(load, rate, horizon.members, advised).members for load in loads[:2])
    old_plan = search.old_plan(loads[0], rate)
    if old_plan is not None and members is not None and stay_at is not None:
        at_least = members + 1 if may_replan else stay_at
        if advised < at_least:
            tried = [search.least(load, rate, at_least=at_least) for load in loads[:2]]
            least = max(tried, key=lambda least: (least.members, least.missed is not None))
            advised, missed = least.members, missed or least.missed
    present = None
    if members is not None:
        planning = with_arrivals(strategy, trials.load(lasting) - lasting.start_lags)
        present = PresentGroup(history, planning, members, owners, capacities, trials.newcomer)
    newcomer_rate = rate * trials.newcomer / trials.fastest
    return Sizing(
        target=target,
        rate=newcomer_rate / (1 - target.headroom),
        fastest_rate=rate / (1 - target.headroom),
        members=members,
        advised=advised,
        steps=tuple(steps),
        horizon=horizon,
        hot=hot_partitions(lasting, rate, newcomer_rate, target),
        behind=int(limits(lasting, rate, target).behind.sum()),
        missed=missed,
        old_plan=old_plan,
        stay=None if present is None else present.cost(present.members),
        scale=None if present is None or advised == present.members else present.cost(advised),
    )


class Advice:
    """Sizes one group again and again.  It keeps the last advised size while that size is right."""

    def __init__(self) -> None:
        self._advised: int | None = None
        self._replanned_at = -math.inf  # when an old plan was last a reason to grow

    def size(
        self,
        at_s: float,
        history: History,
        strategy: Strategy,
        target: Target,
        *,
        members: int | None,
        owners: Counts | None,
        capacities: Sequence[float] = (),
    ) -> Sizing:
        """Return the sizes at a time, seconds on any clock.  Arguments and errors are those of ``size``."""
        may_replan = at_s >= self._replanned_at + REPLAN_PART * history.length_s
        sizing = size(
            history,
            strategy,
            target,
            members=members,
            owners=owners,
            stay_at=self._advised,
            may_replan=may_replan,
            capacities=capacities,
        )
        if may_replan and sizing.old_plan is not None:
            self._replanned_at = at_s
        self._advised = sizing.advised
        return sizing


def _lasting(history: History, target: Target) -> History:
    """Return the history, with its last step repeated until it is ``_LASTS`` times the target long."""
    missing = _LASTS * target.max_time_lag_s - history.length_s
    more = max(int(np.ceil(missing / history.step_s)), 0)
    arrivals = np.vstack([history.arrivals, np.repeat(history.arrivals[-1:], more, axis=0)])
    return replace(history, arrivals=arrivals, pace=None, expected=None)


def _repeated(history: History, step: int, length_s: float) -> History:
    """Return a history of one long step, with the arrivals of a step; the first step has the present lag."""
    arrivals = np.rint(history.arrivals[step : step + 1] * (length_s / history.step_s)).astype(np.int64)
    start_lags = history.start_lags if step == 0 else np.zeros_like(history.start_lags)
    return replace(
        history, step_s=length_s, arrivals=arrivals, start_lags=start_lags, pace=None, expected=None
    )
