"""A discrete simulation of a consumer group: the same planners, on arrivals that were recorded.

Time goes from event to event: a step's end, a member that comes, goes or dies, the start and end of a round,
the end of a warm-up.  Between two of them nobody starts or stops reading and records arrive evenly, so that
what was read follows exactly (``serving``), however short or long that is.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection
from typing import Literal

import numpy as np

from kafka_assignors.errors import OptionError
from kafka_assignors.simulation.books import Books
from kafka_assignors.simulation.churn import Act, first_members
from kafka_assignors.simulation.crew import Crew
from kafka_assignors.simulation.history import Counts, History, Levels
from kafka_assignors.simulation.interval import NOTHING
from kafka_assignors.simulation.outcome import Move, Outcome
from kafka_assignors.simulation.scenario import Scenario
from kafka_assignors.simulation.serving import Slots
from kafka_assignors.simulation.told import Told, foreseen
from kafka_assignors.simulation.watch import Watch
from kafka_assignors.simulation.work import Work

__all__ = ["simulate"]

_Event = Literal["act", "asks", "expires", "stop", "end", "reads", "replan", "look"]
_LEAST_LIMIT_S = 3600.0


def simulate(history: History, scenario: Scenario, *, series: bool = True) -> Outcome:
    """Let a group read a history.

    Args:
        history: what arrives.
        scenario: who reads it, and what happens to them.
        series: whether the outcome has one; figures alone are some hundred bytes.

    Returns:
        What came of it; the same for the same arguments, whenever and wherever.  Cost: linear in steps x
        partitions, and a plan a round.

    Raises:
        OptionError: no service rate is known, or the churn goes beyond the history.
    """
    return _Simulation(history, scenario).run(series=series)


class _Simulation:
    """One scenario on its way."""

    def __init__(self, history: History, scenario: Scenario) -> None:
        rate = scenario.service_rate or history.service_rate
        if rate is None:
            raise OptionError("service_rate", "the history knows none: say how many records/s a member reads")
        self._acts = scenario.acts()
        if late := [act for act in self._acts if act.at >= history.length_s]:
            raise OptionError("churn", f"{late[0]} is not within the history of {history.length_s:g} s")
        self._history, self._scenario, self._pauses = history, scenario, scenario.pauses
        names = list(first_members(scenario.members)) + [a.member for a in self._acts if a.kind == "join"]
        self._names = names
        self._number = {name: number for number, name in enumerate(names)}
        self._work = Work(history, np.array([scenario.rates.get(name, rate) for name in names] + [0.0]))
        self._crew = Crew(scenario.strategy, dict(history.topics), names)
        told = scenario.strategy.by_lag or scenario.strategy.by_load
        self._told = Told(history.partitions, scenario.strategy.lag_refresh_s) if told else None
        self._books = Books(history, scenario, rate)
        self._alive = np.zeros(len(names), np.bool_)
        self._reads = np.zeros(len(names) + 1, np.bool_)
        self._free_at = np.zeros(len(names))
        self._dies_at: dict[int, float] = {}  # the dead that the group does not know of yet
        self._in_round = False  # from its cause to its end
        self._stopped = np.zeros(len(names), np.bool_)  # have heard of the round
        self._goes_on = self._pauses.continuous > 0 and scenario.strategy.cooperative
        self._round = 0
        self._starting = 0  # members whose processes start
        self._events: list[tuple[float, int, _Event, int]] = []
        self._tie = itertools.count()
        self._watch = Watch(scenario, self._crew, names)
        self._foreseen: tuple[int, Counts] | None = None  # as of this step

    # --- the course of things ------------------------------------------------------------------------------

    def run(self, *, series: bool) -> Outcome:
        """From the start to the last record, or the limit."""
        history = self._history
        self._assemble()
        for number, act in enumerate(self._acts):
            self._later(act.at, "act", number)
        if self._scenario.replan_s is not None:
            self._later(self._scenario.replan_s, "replan")
        limit = self._scenario.drain_limit_s
        limit = history.length_s + (max(history.length_s, _LEAST_LIMIT_S) if limit is None else limit)
        self._sample()
        while not self._over(limit):
            boundary = self._work.boundary
            until = min(boundary, self._events[0][0] if self._events else np.inf)
            if self._work.over:
                until = min(until, limit, self._work.empty_at(self._reader()))
            self._pass(until)
            while self._events and self._events[0][0] <= self._now:
                _, _, event, number = heapq.heappop(self._events)
                self._happens(event, number)
            if self._now >= boundary:
                self._work.next_step()
                self._sample()
        if self._work.step * history.step_s < self._now:
            self._sample()
        return self._books.outcome(self._now, series=series)

    @property
    def _now(self) -> float:
        return self._work.now

    def _over(self, limit: float) -> bool:
        if not self._work.over:
            return False
        return self._now >= limit or (self._work.lag().sum() <= NOTHING and self._settled())

    def _settled(self) -> bool:
        return not (self._in_round or self._dies_at or self._starting) and bool(
            self._reads[self._crew.present].all()
        )

    def _assemble(self) -> None:
        """The members of the start come together, and have settled."""
        owners, first = self._scenario.owners, first_members(self._scenario.members)
        for number in range(len(first)):
            self._crew.join(number)
        if owners is None:
            self._crew.round(self._known())
        elif len(owners) == self._history.partitions:
            self._crew.begin_with(np.array([self._number[name] for name in owners], np.int64))
        else:
            raise OptionError("owners", f"expected {self._history.partitions}, got {len(owners)}")
        if self._told is not None:
            self._told.passed(0.0, self._work.lag())
            self._told.assigned(0.0, self._crew.owner)
        self._alive[: len(first)] = True
        self._reads[: len(first)] = True
        if self._work.lag().sum() > NOTHING:
            self._books.disturbed(0.0, 0.0)
        self._watch_from_now()

    def _later(self, at: float, event: _Event, number: int = 0) -> None:
        heapq.heappush(self._events, (at, next(self._tie), event, number))

    # --- reading -------------------------------------------------------------------------------------------

    def _reader(self) -> Slots:
        """By partition who reads it; nobody is the number of members."""
        owner = self._crew.owner
        return np.where(self._reads[owner], owner, len(self._names))  # NOBODY is the last one, who never does

    def _pass(self, until: float) -> None:
        """Let time pass; nobody starts or stops meanwhile."""
        reader = self._reader()
        while self._now < until:
            self._pass_evenly(min(until, self._work.next_empty(reader)), reader)

    def _pass_evenly(self, until: float, reader: Slots) -> None:
        """No partition runs empty meanwhile, either."""
        length, present = until - self._now, self._crew.present
        # A member's lag is largest at an end of the time in which it owns the same, whatever comes between.
        self._books.owned(self._work.owned(self._crew.owner)[:-1])
        self._books.passed(self._work.interval(length, reader), settled=self._settled())
        self._books.pause_s += length * int((self._alive[present] & ~self._reads[present]).sum())
        self._books.unserved_s += length * int((reader == len(self._names)).sum())
        self._work.go_on(until, reader)
        if self._told is not None:
            self._told.passed(until, self._work.lag())
        self._books.owned(self._work.owned(self._crew.owner)[:-1])
        self._books.moment(until, self._work.arrived, self._work.read)

    def _sample(self) -> None:
        work, crew = self._work, self._crew
        lags = work.owned(crew.owner)
        self._books.sample(self._now, work.arrived, work.read, lags, members=len(crew.present))

    def _known(self) -> Counts:
        """What the leader plans by in a round now: the lag it is told, or with forecasts the load."""
        lag = self._work.lag()
        if self._told is not None:
            lag = self._told.lag(self._now, lag, self._crew.leader)
        return self._with_expected(lag)

    def _with_expected(self, lag: Levels) -> Counts:
        """Add what is expected to come, for a strategy that is told that."""
        whole = np.rint(lag).astype(np.int64)
        step = self._work.step
        expected = self._history.expected_at(step) if self._scenario.strategy.by_load else None
        if expected is None:
            return whole
        if self._foreseen is None or self._foreseen[0] != step:
            self._foreseen = step, foreseen(self._history.topics, expected)
        return whole + self._foreseen[1]

    # --- what happens --------------------------------------------------------------------------------------

    def _happens(self, event: _Event, number: int) -> None:
        if event == "act":
            self._act(self._acts[number])
        elif event == "asks":
            self._starting -= 1
            self._alive[number] = True
            self._crew.join(number)
            self._cause()
        elif event == "expires":
            del self._dies_at[number]
            self._gone(number)
            self._cause()
        elif event == "stop":
            self._stop(self._crew.present)
        elif event == "end":
            self._end(number)
        elif event == "reads":
            if not self._stopped[number] and self._alive[number] and self._free_at[number] <= self._now:
                self._reads[number] = True
        elif event == "replan":
            self._cause()
            self._later(self._now + (self._scenario.replan_s or 0.0), "replan")
        else:
            self._look(number)

    def _gone(self, number: int) -> None:
        """A member is not in the group any more."""
        if self._told is not None:
            self._told.gone(self._crew.owner == number)
        self._crew.remove(number)

    def _act(self, act: Act) -> None:
        number = self._number[act.member]
        self._books.disturbed(self._now, float(self._work.lag().sum()))
        if act.kind == "join":
            self._starting += 1
            self._later(self._now + self._pauses.start_s, "asks", number)
            return
        self._reads[number] = self._alive[number] = False
        if act.kind == "leave":
            self._gone(number)
            self._cause()
        else:
            self._dies_at[number] = self._now + max(
                self._pauses.session_timeout_s - self._pauses.heartbeat_s / 2, 0.0
            )
            self._later(self._dies_at[number], "expires", number)

    def _cause(self, asking: Collection[int] = (), hears_in: float | None = None) -> None:
        """There is a cause for a round; one that goes on already takes it in.

        Args:
            asking: members that ask for it, and get no records from now on.
            hears_in: seconds until all have heard of it; half an interval of heartbeats when not given.
        """
        if self._in_round:
            return
        self._in_round = True
        self._round += 1
        self._stop(asking)
        all_heard = self._now + (self._pauses.heartbeat_s / 2 if hears_in is None else hears_in)
        self._later(all_heard, "stop")
        self._later(all_heard + self._pauses.join_s, "end", self._round)

    def _stop(self, members: Collection[int]) -> None:
        """They get no records until the round has ended."""
        if self._goes_on:
            return
        self._stopped[list(members)] = True
        self._reads[list(members)] = False

    def _end(self, number: int) -> None:
        if self._dies_at:
            # The group waits for the dead to join, until it takes them for dead.
            self._later(max(self._dies_at.values()), "end", number)
            return
        found = self._crew.round(self._known())
        if self._told is not None:
            self._told.assigned(self._now, self._crew.owner)
        self._in_round = False
        self._stopped[:] = False
        for partition, giver, taker in zip(found.moved, found.givers, found.takers, strict=True):
            move = Move(self._now, int(partition), self._names[giver], self._names[taker])
            self._books.hand_over(move, self._work.capacity(int(taker)))
        self._books.round_over(again=found.again)
        eager = not self._scenario.strategy.cooperative
        for member in self._crew.present:
            gained = int(found.gained[member])
            # An eager member has thrown away what it had fetched.
            again = self._pauses.refetch_s if gained or eager else 0.0
            free = max(self._free_at[member], self._now + again) + self._pauses.warm_up_s * gained
            self._free_at[member] = free
            if free > self._now:
                self._reads[member] = False
            self._later(free, "reads", member)
        if found.again:
            # Who revokes asks at once.  The others hear of it with their next heartbeat.
            others = set(self._crew.present) - found.revoked
            self._cause(found.revoked, self._pauses.heartbeat_s if others and not self._goes_on else 0.0)
        else:
            self._watch_from_now()

    # --- a rebalance for the sake of even loads ------------------------------------------------------------

    def _watch_from_now(self) -> None:
        if (at := self._watch.settled(self._now)) is not None:
            self._later(at, "look", self._round)

    def _look(self, number: int) -> None:
        """A look from before the last round is void; the dead do not look."""
        leader = self._crew.leader
        if number != self._round or self._in_round or not self._alive[leader]:
            return
        self._later(self._watch.next_look(self._now), "look", number)
        lag = self._work.lag()
        if self._told is not None:
            self._told.looked(self._now, lag, leader)
        if self._watch.asks(self._now, self._with_expected(lag)):
            self._cause([leader])
