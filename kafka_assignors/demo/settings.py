"""What one demo run is asked to do, with defaults that fit two cores and three minutes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kafka_assignors.demo.churn import Act, Step, parse, rehearse
from kafka_assignors.errors import OptionError

DEFAULT_STRATEGIES = ("range", "cooperative-sticky")
DEFAULT_CHURN = "join@12,leave@26,kill@40"
MAX_POLL_MS = 30_000  # a member that does not poll for so long is expelled


@dataclass(frozen=True, slots=True)
class Settings:
    """One demo, the same for every strategy it compares.

    The defaults keep four members about two thirds busy: January 2013 has 27,004 flights, which at 60,000
    times real time is 605 records/s; a member that spends 4 ms a record does about 240 records/s, so four do
    960 and three 720.

    Args:
        strategies: wire names, in the order they run.
        consumers: members at the start.
        partitions: partitions of the topic.
        speed: multiple of real time at which the flights are replayed.
        duration: seconds of replay; draining what is left comes on top.
        churn: who joins and leaves when.
        work_ms: what one record costs its consumer: a wait of so many milliseconds, as for a call to a
            service.
        warm_up_ms: what one gained partition costs before the member goes on, as for opening its local state.
        session_timeout_ms: after so long without a heartbeat the broker takes a member for dead.
        heartbeat_ms: how often a member asks whether a rebalance is on.
        batch: most records between two commits.
        drain_timeout: seconds to wait for the backlog to be worked off before the run counts as failed.
    """

    strategies: tuple[str, ...] = DEFAULT_STRATEGIES
    consumers: int = 4
    partitions: int = 18
    speed: float = 60_000.0
    duration: float = 60.0
    churn: tuple[Step, ...] = parse(DEFAULT_CHURN)
    work_ms: float = 4.0
    warm_up_ms: float = 400.0
    session_timeout_ms: int = 6_000
    heartbeat_ms: int = 500
    batch: int = 25
    drain_timeout: float = 90.0

    def __post_init__(self) -> None:
        for option, value, least in (
            ("consumers", self.consumers, 1),
            ("partitions", self.partitions, 1),
            ("batch", self.batch, 1),
        ):
            if value < least:
                raise OptionError(option, f"{value} is less than {least}")
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
        late = [step for step in self.churn if step.at >= self.duration]
        if late:
            raise OptionError("churn", f"{late[0]} is not within the replay of {self.duration:g} s")
        self.acts()

    def _check_poll(self) -> None:
        """Refuse costs that would keep a member from polling in time; the first one opens all partitions."""
        warm_up, work = self.partitions * self.warm_up_ms, self.batch * self.work_ms
        if warm_up + work >= MAX_POLL_MS:
            option, what = (
                ("warm_up_ms", f"{self.partitions} partitions of {self.warm_up_ms:g} ms")
                if warm_up >= work
                else ("work_ms", f"{self.batch} records of {self.work_ms:g} ms")
            )
            raise OptionError(option, f"{what} do not fit between two polls, {MAX_POLL_MS / 1e3:g} s at most")

    def acts(self) -> tuple[Act, ...]:
        """Return the churn with the member of each step named."""
        return rehearse(self.churn, self.consumers)
