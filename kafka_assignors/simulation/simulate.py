"""A discrete-event simulation of a consumer group, with the real planners on recorded arrivals.

An event is a scheduled call, or the end of a step.  Between two events no member starts or stops reading, and
records arrive evenly.  So the records read between two events can be computed exactly, for any length of time
(``serving``).
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Collection
from functools import partial

import numpy as np

from kafka_assignors.errors import OptionError
from kafka_assignors.simulation.churn import Act, first_members
from kafka_assignors.simulation.consumption import Consumption
from kafka_assignors.simulation.group import GroupModel
from kafka_assignors.simulation.history import History
from kafka_assignors.simulation.leader import Leader
from kafka_assignors.simulation.outcome import Move, Outcome
from kafka_assignors.simulation.outcome_builder import OutcomeBuilder
from kafka_assignors.simulation.scenario import Scenario
from kafka_assignors.simulation.serving import NOTHING, Readers
from kafka_assignors.validators import wrong

_LEAST_LIMIT_S = 3600.0  # minimum time after the history to drain all lag


def simulate(history: History, scenario: Scenario, *, series: bool = True) -> Outcome:
    """Simulate a group that reads a history.

    Args:
        history: the arrivals.
        scenario: the strategy, the members and their churn.
        series: whether the outcome has a series.  Without it an outcome is small, except for its moves, and
            time lags after the history may differ by up to half a second.

    Returns:
        The outcome; the same one for the same arguments.  Cost: a plan for each round, and time
        linear in intervals x partitions; for memory see `LevelRecord`.  An interval ends with each
        step (after the history only with ``series``), with each event and, at most twice a second, when a
        partition runs empty.

    Raises:
        OptionError: the service rate is unknown, the churn goes beyond the history, or ``owners`` does not
            have one owner for each partition.
    """
    return Simulation(history, scenario).run(series=series)


class Simulation:
    """The state of one simulation.  `run` applies the churn of the scenario.

    A subclass may instead decide on the churn during the simulation, as ``bench.lag.autoscaler`` does.

    Raises:
        OptionError: as ``simulate``.
    """

    def __init__(self, history: History, scenario: Scenario) -> None:
        rate = scenario.service_rate or history.service_rate
        if rate is None:
            raise OptionError("service_rate", "the history has none: give the records/s a member reads")
        self._acts = scenario.acts()
        if late := [act for act in self._acts if act.at >= history.length_s]:
            raise OptionError("churn", f"{late[0]} is not within the history of {history.length_s:g} s")
        self._history, self._scenario, self._pauses = history, scenario, scenario.pauses
        names = list(first_members(scenario.members)) + [a.member for a in self._acts if a.kind == "join"]
        self._names, self._number = names, {name: number for number, name in enumerate(names)}
        capacities = [scenario.capacities.get(name, 1.0) for name in names]
        self._work = Consumption(history, rate * np.array([*capacities, 0.0]))
        self._group = GroupModel(scenario.strategy, dict(history.topics), names, capacities)
        self._leader = Leader(history, scenario, self._group, names)
        self._outcome = OutcomeBuilder(history, scenario, rate)
        self._is_alive = np.zeros(len(names), np.bool_)
        self._reads = np.zeros(len(names) + 1, np.bool_)  # the last one is no member, and never reads
        self._reads_from = np.zeros(len(names))
        self._expires_at: dict[int, float] = {}  # killed members that have not expired yet
        self._in_round = False  # a round lasts from its cause to its end
        self._is_stopped = np.zeros(len(names), np.bool_)  # members that do not read until the round ends
        self._is_continuous = self._pauses.continuous > 0 and scenario.strategy.cooperative
        self._round = 0
        self._starting: set[int] = set()  # members whose process is starting
        self._events: list[tuple[float, int, Callable[[], None]]] = []  # a heap: time, tie-breaker, call
        self._tie = itertools.count()

    # --- event loop ----------------------------------------------------------------------------------------

    def run(self, *, series: bool) -> Outcome:
        """Simulate until the history is over, all is read and the group has settled, or until the limit."""
        history = self._history
        self._start()
        for act in self._acts:
            self._schedule(act.at, partial(self._apply, act))
        if (replan_s := self._scenario.replan_s) is not None:
            self._schedule(replan_s, partial(self._replan, replan_s))
        limit = self._scenario.drain_limit_s
        limit = history.length_s + (max(history.length_s, _LEAST_LIMIT_S) if limit is None else limit)
        while not self._is_over(limit):
            # Only a series needs the ends of steps after the history, which are many if draining takes long.
            has_boundary = series or not self._work.history_ended
            boundary = self._work.boundary if has_boundary else math.inf
            until = min(boundary, self._next_event_at)
            if self._work.history_ended:
                until = min(until, limit, self._work.empty_at(self._reader()))
            self._advance(until)
            self._handle_due(boundary)
        if self._work.step * history.step_s < self._now:
            self._record_step()
        self._events.clear()  # they refer to this object: it would stay in memory until a garbage collection
        return self._outcome.build(self._now, settled=self._is_settled(), series=series)

    def _handle_due(self, boundary: float) -> None:
        """Handle the events that are due now, and the end of a step at ``boundary``."""
        while self._next_event_at <= self._now:
            _, _, call = heapq.heappop(self._events)
            call()
        if self._now >= boundary:
            self._work.next_step()
            self._record_step()

    def _schedule(self, at: float, call: Callable[[], None]) -> None:
        """Add an event.  Events at the same time run in the order in which they were scheduled."""
        heapq.heappush(self._events, (at, next(self._tie), call))

    @property
    def _next_event_at(self) -> float:
        return self._events[0][0] if self._events else math.inf

    @property
    def _now(self) -> float:
        return self._work.now

    def _is_over(self, limit: float) -> bool:
        if not self._work.history_ended:
            return False
        return self._now >= limit or (self._work.lag().sum() <= NOTHING and self._is_settled())

    def _is_settled(self) -> bool:
        return not (self._in_round or self._expires_at or self._starting) and bool(
            self._reads[self._group.present].all()
        )

    def _start(self) -> None:
        """Start with the scenario's first members, and their partitions assigned."""
        owners, first = self._scenario.owners, first_members(self._scenario.members)
        for number in range(len(first)):
            self._group.join(number)
        if owners is None:
            self._group.round(self._leader.load(self._now, self._work.lag()))
        elif len(owners) == self._history.partitions:
            self._group.settle(np.array([self._number[name] for name in owners], np.int64))
        else:
            raise wrong("owners", f"one for each of {self._history.partitions} partitions", len(owners))
        self._leader.known_lag.record(0.0, self._work.lag())
        self._leader.known_lag.assigned(0.0, self._group.owner)
        self._is_alive[: len(first)] = True
        self._reads[: len(first)] = True
        if self._work.lag().sum() > NOTHING:
            self._outcome.record_disturbance(0.0, 0.0)
        self._watch_skew()
        self._record_step()

    # --- reading -------------------------------------------------------------------------------------------

    def _reader(self) -> Readers:
        """Return the index of the reader by partition; an index behind the last member: no reader."""
        owner = self._group.owner
        return np.where(self._reads[owner], owner, len(self._names))  # NO_MEMBER, -1, is the last index

    def _advance(self, until: float) -> None:
        reader = self._reader()
        while self._now < until:
            self._advance_evenly(min(until, self._work.next_empty(reader)), reader)

    def _advance_evenly(self, until: float, reader: Readers) -> None:
        """Advance to a time; a partition may run empty up to half a second before (see ``next_empty``)."""
        length, present = until - self._now, self._group.present
        # A member's lag is largest at the start or the end of an interval, so both are recorded.
        self._outcome.record_member_lag(self._work.lag_by_owner(self._group.owner)[:-1])
        self._outcome.record_interval(self._work.interval(length, reader), settled=self._is_settled())
        self._outcome.pause_s += length * int((self._is_alive[present] & ~self._reads[present]).sum())
        self._outcome.unserved_s += length * int((reader == len(self._names)).sum())
        self._work.advance(until, reader)
        self._leader.known_lag.record(until, self._work.lag())
        self._outcome.record_member_lag(self._work.lag_by_owner(self._group.owner)[:-1])
        self._outcome.record_levels(until, self._work.arrived, self._work.read)

    def _record_step(self) -> None:
        work, group = self._work, self._group
        lags = work.lag_by_owner(group.owner)
        self._outcome.record_step(self._now, work.arrived, work.read, lags, members=len(group.present))

    # --- events --------------------------------------------------------------------------------------------

    def _join(self, number: int) -> None:
        """Let a member whose process has started join."""
        if number in self._starting:  # else the process was stopped before it had started
            self._starting.remove(number)
            self._is_alive[number] = True
            self._group.join(number)
            self._request_round()

    def _expire(self, number: int) -> None:
        """End the session of a killed member."""
        del self._expires_at[number]
        self._remove(number)
        self._request_round()

    def _resume(self, number: int) -> None:
        """Let a member read again after a round, unless it has left, died or waits again."""
        is_paused = self._is_stopped[number] or self._reads_from[number] > self._now
        if self._is_alive[number] and not is_paused:
            self._reads[number] = True

    def _replan(self, every_s: float) -> None:
        """Request a round regardless of lag, and another one after ``every_s`` seconds."""
        self._request_round()
        self._schedule(self._now + every_s, partial(self._replan, every_s))

    def _remove(self, number: int) -> None:
        self._leader.known_lag.removed(self._group.owner == number)
        self._group.remove(number)

    def _apply(self, act: Act) -> None:
        """Let a member join, leave or die now."""
        number = self._number[act.member]
        self._outcome.record_disturbance(self._now, float(self._work.lag().sum()))
        if act.kind == "join":
            self._starting.add(number)
            self._schedule(self._now + self._pauses.start_s, partial(self._join, number))
            return
        if number in self._starting:
            self._starting.remove(number)
            return
        self._reads[number] = self._is_alive[number] = False
        if act.kind == "leave":
            self._remove(number)
            self._request_round()
        else:
            session_left_s = max(self._pauses.session_timeout_s - self._pauses.heartbeat_s / 2, 0.0)
            self._expires_at[number] = self._now + session_left_s
            self._schedule(self._expires_at[number], partial(self._expire, number))

    def _request_round(self, requesters: Collection[int] = (), known_in: float | None = None) -> None:
        """Request a round, unless one is running already.

        Args:
            requesters: members that request the round, and stop at once unless they are continuous.
            known_in: seconds until all members know of the round; half a heartbeat interval by default.
        """
        if self._in_round:
            return
        self._in_round = True
        self._round += 1
        self._stop(requesters)
        all_know = self._now + (self._pauses.heartbeat_s / 2 if known_in is None else known_in)
        self._schedule(all_know, lambda: self._stop(self._group.present))
        self._schedule(all_know + self._pauses.join_s, self._end)

    def _stop(self, members: Collection[int]) -> None:
        """Stop members from reading until the end of the round, unless they are continuous."""
        if self._is_continuous:
            return
        self._is_stopped[list(members)] = True
        self._reads[list(members)] = False

    def _end(self) -> None:
        """End a round: plan, and let members read again."""
        if self._expires_at:  # the group waits for killed members until they expire
            self._schedule(max(self._expires_at.values()), self._end)
            return
        if not self._group.present:  # the next member to join requests a round
            self._in_round = False
            return
        changes = self._group.round(self._leader.load(self._now, self._work.lag()))
        self._leader.known_lag.assigned(self._now, self._group.owner)
        self._in_round = False
        self._is_stopped[:] = False
        for partition, giver, taker in zip(changes.moved, changes.givers, changes.takers, strict=True):
            move = Move(self._now, int(partition), self._names[giver], self._names[taker])
            self._outcome.record_move(move, self._work.capacity(int(taker)))
        self._outcome.record_round(again=changes.again)
        is_eager = not self._scenario.strategy.cooperative
        for member in self._group.present:
            gained = int(changes.gained[member])
            # An eager member has dropped the records it had fetched.
            refetch_s = self._pauses.refetch_s if gained or is_eager else 0.0
            reads_from = max(self._reads_from[member], self._now + refetch_s)
            reads_from += self._pauses.warm_up_s * gained
            self._reads_from[member] = reads_from
            if reads_from > self._now:
                self._reads[member] = False
            self._schedule(reads_from, partial(self._resume, member))
        if changes.again:
            # Members that revoked a partition join again at once.  The others learn of the next round from
            # their next heartbeat.
            others_hear_later = bool(set(self._group.present) - changes.revoked) and not self._is_continuous
            self._request_round(changes.revoked, self._pauses.heartbeat_s if others_hear_later else 0.0)
        else:
            self._watch_skew()

    # --- rebalances on uneven lag --------------------------------------------------------------------------

    def _watch_skew(self) -> None:
        if (at := self._leader.first_check(self._now)) is not None:
            self._schedule(at, partial(self._check_skew, self._round))

    def _check_skew(self, number: int) -> None:
        """Check for uneven lag, unless another round has begun since, or there is no live leader."""
        if number != self._round or self._in_round or not self._group.present:
            return
        leader = self._group.leader
        if not self._is_alive[leader]:
            return
        self._schedule(self._leader.next_check(self._now), partial(self._check_skew, number))
        if self._leader.request_if_uneven(self._now, self._work.lag()):
            self._request_round([leader])
