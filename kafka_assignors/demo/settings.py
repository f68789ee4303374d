"""What one demo run is asked to do, with defaults that fit two cores and three minutes."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_assignors.demo.churn import Act, Step, parse, rehearse
from kafka_assignors.errors import OptionError

DEFAULT_STRATEGIES = ("range", "cooperative-sticky")
DEFAULT_CHURN = "join@12,leave@26,kill@40"


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
            if not amount > 0:
                raise OptionError(option, f"{amount} is not above 0")
        if min(self.work_ms, self.warm_up_ms) < 0:
            raise OptionError("work_ms, warm_up_ms", "a cost cannot be negative")
        if not self.strategies:
            raise OptionError("strategy", "none given")
        if len(set(self.strategies)) < len(self.strategies):
            raise OptionError("strategy", f"given twice: {', '.join(self.strategies)}")
        late = [step for step in self.churn if step.at >= self.duration]
        if late:
            raise OptionError("churn", f"{late[0]} is not within the replay of {self.duration:g} s")
        self.acts()

    def acts(self) -> tuple[Act, ...]:
        """Return the churn with the member of each step named."""
        return rehearse(self.churn, self.consumers)
