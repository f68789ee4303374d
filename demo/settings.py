"""Settings of one demo run; with the defaults it ends within four minutes on two cores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from kafka_assignors.errors import OptionError
from kafka_assignors.simulation.churn import Act, ChurnStep, parse_churn, rehearse

Compared = Literal["replay", "backlog"]
"""Scenes that compare strategies."""

Scene = Literal["replay", "backlog", "failover"]
SCENES: tuple[Scene, ...] = get_args(Scene)
DEFAULT_SCENES: tuple[Scene, ...] = ("replay", "backlog")
DEFAULT_STRATEGIES = ("range", "cooperative-sticky", "cooperative-lag-aware")
DEFAULT_CHURN = "join@2,leave@7,kill@11"
MAX_POLL_MS = 30_000  # a member without a poll for this time is expelled


@dataclass(frozen=True, slots=True)
class Settings:
    """One demo, the same for every strategy it compares.

    The defaults keep four members about two thirds busy: January 2013 has 27,004 flights, which at 60,000
    times real time is 605 records/s; a member that spends 4 ms a record does about 240 records/s, so four do
    960 and three 720.  Four members drain the backlog in 6 s if none of them idles.  The replay goes on for
    9 s after the kill, because the broker notices it after the session timeout: 6 s, the least it accepts.
    """

    scenes: tuple[Scene, ...] = DEFAULT_SCENES
    strategies: tuple[str, ...] = DEFAULT_STRATEGIES  # wire names, in the order they run
    consumers: int = 4  # members at the start
    partitions: int = 18
    speed: float = 60_000.0  # of the replay: multiple of real time
    duration: float = 20.0  # of the replay, seconds; draining comes on top
    churn: tuple[ChurnStep, ...] = parse_churn(DEFAULT_CHURN)  # of the replay
    backlog: int = 6_000  # records
    flights: int = 150_000  # of the failover, counted before the first event
    work_ms: float = 4.0  # cost of a record: a wait, as for a call to a service
    warm_up_ms: float = 400.0  # cost of a gained partition, as for opening its local state
    session_timeout_ms: int = 6_000
    heartbeat_ms: int = 500
    batch: int = 25  # most records between two commits
    drain_timeout: float = 90.0  # seconds; in the backlog the work of one member comes on top
    pipeline: bool = True  # Spark runs, on replay and backlog

    def __post_init__(self) -> None:
        for option, amount in (("speed", self.speed), ("duration", self.duration)):
            if not 0 < amount < math.inf:
                raise OptionError(option, f"{amount} is not a number above 0")
        for option, cost in (("work_ms", self.work_ms), ("warm_up_ms", self.warm_up_ms)):
            if not 0 <= cost < math.inf:
                raise OptionError(option, f"{cost} is not a number of milliseconds from 0 on")
        self._check_poll()
        if not self.strategies:
            raise OptionError("strategy", "none given")
        if len(set(self.strategies)) < len(self.strategies):
            raise OptionError("strategy", f"given twice: {', '.join(self.strategies)}")
        if "replay" in self.scenes:
            late = [step for step in self.churn if step.at >= self.duration]
            if late:
                raise OptionError("churn", f"{late[0]} is not within the replay of {self.duration:g} s")
            self.acts()

    def _check_poll(self) -> None:
        """Refuse costs that keep a member from polling in time.

        The first member of a group is assigned all partitions, and warms up for each.
        """
        warm_up, work = self.partitions * self.warm_up_ms, self.batch * self.work_ms
        if warm_up + work >= MAX_POLL_MS:
            option, what = (
                ("warm_up_ms", f"{self.partitions} partitions of {self.warm_up_ms:g} ms")
                if warm_up >= work
                else ("work_ms", f"{self.batch} records of {self.work_ms:g} ms")
            )
            raise OptionError(option, f"{what} do not fit between two polls, {MAX_POLL_MS / 1e3:g} s at most")

    @property
    def backlog_timeout(self) -> float:
        """Seconds to wait for the backlog: enough for a plan that leaves all the work to one member."""
        return self.drain_timeout + self.backlog * self.work_ms / 1e3

    def acts(self) -> tuple[Act, ...]:
        """Return the churn with the member of each step named."""
        return rehearse(self.churn, self.consumers)
