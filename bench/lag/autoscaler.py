"""A simulated group whose size follows an autoscaler, as a Kubernetes HPA applies it.

The group is the package's simulation, but the autoscaler decides during the run when members join and leave.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kafka_assignors.cli.size.load import history_of
from kafka_assignors.plan import NO_MEMBER
from kafka_assignors.simulation import ChurnStep, History, Outcome, Pauses, Scenario, Strategy
from kafka_assignors.simulation.churn import Act
from kafka_assignors.simulation.history import Counts, Levels
from kafka_assignors.simulation.simulate import Simulation
from kafka_assignors.simulation.sizing import Advice, Target

SYNC_S = 15.0  # between two decisions of an HPA
TOLERANCE = 0.1  # an HPA ignores smaller differences
LOOK_S, HORIZON_S = 60.0, 3600.0  # `size --every` and `--horizon`


class View(NamedTuple):
    """A group as its autoscaler sees it.

    Attributes:
        now_s: seconds since the start of the day.
        lag: records that are not committed, by partition.
        arrived: records since the start, by partition.
        owners: index of the owner, by partition; None: the group is rebalancing.
        members: number of members of the group.
        replicas: number of members, including those that are starting.
    """

    now_s: float
    lag: Levels
    arrived: Levels
    owners: Counts | None
    members: int
    replicas: int


Autoscaler = Callable[[View], int]
"""Returns the number of replicas for a view of the group."""


class Hpa:
    """The algorithm of a HorizontalPodAutoscaler for an external metric of type AverageValue.

    It has the HPA's defaults: a tolerance of 10 %; to scale down, the largest advice of the last five
    minutes; to scale up, at most four more pods at once, or twice as many if that is more.

    Args:
        average: target value of the metric for each pod.
        most: largest number of pods; the least is 1.
        stabilization_s: ``scaleDown.stabilizationWindowSeconds``.
    """

    def __init__(self, average: float, most: int, stabilization_s: float = 300) -> None:
        self._average, self._most, self._stabilization_s = average, most, stabilization_s
        self._advice: deque[tuple[float, int]] = deque()

    def replicas(self, now_s: float, metric: float, replicas: int) -> int:
        """Return the number of pods that the HPA sets."""
        wanted = math.ceil(metric / self._average)
        if abs(metric / (self._average * replicas) - 1) <= TOLERANCE:
            wanted = replicas
        self._advice.append((now_s, wanted))
        while self._advice[0][0] < now_s - self._stabilization_s:
            self._advice.popleft()
        if wanted < replicas:
            wanted = min(max(advice for _, advice in self._advice), replicas)
        return min(max(min(wanted, max(2 * replicas, replicas + 4)), 1), self._most)


class Keda:
    """KEDA's Kafka scaler: the lag of all partitions divided by ``lagThreshold``, at most one replica each.

    KEDA cuts a lag that asks for more replicas than partitions.  It divides whole numbers, so it does not cut
    a lag that is less than one threshold too large.  From twelve partitions on, a cut lag is within the HPA's
    tolerance for a group with one replica less than partitions, so the group stays at this size.

    Args:
        threshold: ``lagThreshold``, records.
        stabilization_s: see ``Hpa``.
    """

    def __init__(self, threshold: int, stabilization_s: float = 300) -> None:
        self._threshold, self._stabilization_s = threshold, stabilization_s
        self._hpa: Hpa | None = None

    def __call__(self, view: View) -> int:
        partitions = len(view.lag)
        self._hpa = self._hpa or Hpa(self._threshold, partitions, self._stabilization_s)
        lag = float(np.rint(view.lag).sum())
        if lag // self._threshold > partitions:
            lag = partitions * self._threshold
        return self._hpa.replicas(view.now_s, lag, view.replicas)


class Sized:
    """``kafka-assignors size --serve`` behind KEDA's metrics-api trigger, as in the guide."""

    def __init__(
        self,
        target: Target,
        strategy: Strategy,
        history: History,
        expected: Callable[[View], Levels] | None = None,
    ) -> None:
        self._target, self._strategy, self._history, self._expected = target, strategy, history, expected
        self._hpa = Hpa(1, history.partitions, stabilization_s=600)
        self._before: View | None = None
        self._advice = Advice()
        self._advised: int | None = None

    def __call__(self, view: View) -> int:
        if self._before is None:
            self._before = view
        elif view.now_s >= self._before.now_s + LOOK_S:
            before, self._before = self._before, view
            if view.owners is not None:
                self._advise(before, view)
        if self._advised is None:
            return view.replicas
        return self._hpa.replicas(view.now_s, self._advised, view.replicas)

    def _advise(self, before: View, view: View) -> None:
        steps = [(view.arrived - before.arrived) / (view.now_s - before.now_s)]
        if self._expected is not None:
            steps.append(self._expected(view))
        load = history_of(
            self._history.group,
            self._history.topics,
            steps,
            np.rint(view.lag).astype(np.int64),
            horizon_s=HORIZON_S,
            rate=self._history.service_rate,
        )
        self._advised = self._advice.size(
            view.now_s, load, self._strategy, self._target, members=view.members, owners=view.owners
        ).advised


class ScaledGroup(Simulation):
    """A group that starts with one member and is scaled every 15 s.

    Attributes:
        member_s: seconds of all members until now, including those that are starting.
        most: the largest number of members until now, including those that are starting.
        scalings: number of changes of the size.
    """

    def __init__(
        self,
        history: History,
        strategy: Strategy,
        pauses: Pauses,
        rule: Autoscaler,
        *,
        commit_age_s: float = 0.0,
    ) -> None:
        # The scenario's churn only names the members.  The autoscaler decides when they join and leave.
        named = (ChurnStep("join", history.length_s / 2),) * (history.partitions - 1)
        super().__init__(history, Scenario("day", strategy, 1, churn=named, pauses=pauses))
        self._rule, self._commit_age_s = rule, commit_age_s
        self._replicas = [0]  # numbers of the members, in the order of their start
        self.member_s, self.most, self.scalings = 0.0, 1, 0

    def play(self) -> Outcome:
        """Simulate the day and return its outcome."""
        self._start()
        length_s = self._history.length_s
        for tick in range(1, int(length_s / SYNC_S)):
            self._until(tick * SYNC_S - self._commit_age_s)
            committed = self._work.read.copy()
            self._until(tick * SYNC_S)
            self._scale(committed)
        self._until(length_s)
        return self._outcome.build(self._now, settled=self._is_settled(), series=True)

    def _until(self, end: float) -> None:
        """Advance to a time (seconds), and play all events and steps until then."""
        self.member_s += max(end - self._now, 0.0) * len(self._replicas)
        while self._now < end:
            boundary = self._work.boundary
            self._advance(min(end, boundary, self._next_event_at))
            self._handle_due(boundary)

    def _scale(self, committed: Levels) -> None:
        present, owner = sorted(self._group.present), self._group.owner
        is_settled = not self._in_round and not (owner == NO_MEMBER).any()
        view = View(
            self._now,
            np.maximum(self._work.arrived - committed, 0.0),
            self._work.arrived.copy(),
            np.searchsorted(present, owner) if is_settled else None,
            len(present),
            len(self._replicas),
        )
        wanted = self._rule(view)
        self.scalings += wanted != len(self._replicas)
        while len(self._replicas) < wanted:
            number = min(set(range(len(self._names))) - {*self._replicas})
            self._replicas.append(number)
            self._apply(Act("join", self._now, self._names[number]))
        while len(self._replicas) > wanted and self._replicas[-1] in present:
            number = self._replicas.pop()  # Kubernetes ends the youngest pod
            self._apply(Act("leave", self._now, self._names[number]))
        self.most = max(self.most, len(self._replicas))
