"""Follows the logs of a run while it goes on, for the live view and to know when all is done.

Only a glance: it keeps running counts.  The results come from `measure`, which reads the finished logs anew.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from demo.group.logs import Entry
from demo.settings import Compared
from kafka_assignors.simulation.churn import Act

RATE_OVER_NS = 2_000_000_000  # records/s are the mean of the last 2 s
HISTORY_NS = 250_000_000  # one point of the lag's history

Phase = Literal["filling", "starting", "replaying", "draining", "done"]
State = Literal["starting", "running", "left", "killed"]


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member at this moment; lag in records, rate in records/s."""

    name: str
    pid: int
    state: State
    partitions: tuple[int, ...]
    lag: int
    rate: float


@dataclass(frozen=True, slots=True)
class RunView:
    """What the members' logs do not tell of this moment; times in seconds.

    Args:
        scene: which.
        strategy: its name.
        number: of this run in its scene, from 1.
        of: how many runs the scene has.
        phase: what is going on.
        elapsed: since the replay began, or the backlog was let go; before that, since the run began.
        duration: how long the replay goes on, or the least time that draining the backlog takes.
        to_send: records of the backlog; 0 in the replay.
        acts: the churn.
        acted: how many of its steps are done.
    """

    scene: Compared
    strategy: str
    number: int
    of: int
    phase: Phase
    elapsed: float
    duration: float
    to_send: int = 0
    acts: tuple[Act, ...] = ()
    acted: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything the live view shows."""

    run: RunView
    members: tuple[MemberView, ...]
    owners: tuple[str | None, ...]
    lag: tuple[int, ...]
    sent: int
    processed: int
    moves: int


@dataclass(slots=True)
class _Member:
    pid: int = 0
    state: State = "starting"
    owned: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)  # warmed up for
    done: deque[tuple[int, int]] = field(default_factory=deque)  # (t, records) of the last seconds


class Watch:
    """Running counts over the logs' entries, fed as they come.

    Args:
        partitions: of the topic.
    """

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._members: dict[str, _Member] = {}
        self._last_owner: dict[int, str] = {}
        self._sent = [0] * partitions  # next offset
        self._reached = [0] * partitions
        self._history: deque[tuple[int, int]] = deque(maxlen=2_000)  # (t, lag)
        self._moves = 0
        self._counting = False
        self.last_change = 0  # ns: the last time ownership changed, or a partition was opened

    def count_moves(self) -> None:
        """Count moves from here on: the first assignment is none."""
        self._counting = True

    def feed_sent(self, entry: Entry) -> None:
        """Take note of a ``sent`` entry."""
        partition = entry.partitions[0]
        self._sent[partition] = max(self._sent[partition], entry.last + 1)

    def feed(self, name: str, entry: Entry) -> None:
        """Take note of what a member did."""
        member = self._members.setdefault(name, _Member())
        if entry.event == "started":
            member.pid = int(entry.note)
        elif entry.event == "joined":
            member.state = "running"
        elif entry.event == "opened":
            self.last_change = max(self.last_change, entry.t)
            member.open |= set(entry.partitions)
        elif entry.event == "assigned":
            self.last_change = max(self.last_change, entry.t)
            member.owned |= set(entry.partitions)
            member.open &= member.owned  # what did not come back must be opened anew
            for partition in entry.partitions:
                self._moves += self._counting and self._last_owner.get(partition, name) != name
                self._last_owner[partition] = name
        elif entry.event in {"revoked", "lost"}:
            self.last_change = max(self.last_change, entry.t)
            member.owned -= set(entry.partitions)
        elif entry.event == "left":
            member.state = "left"
        elif entry.event == "done":
            partition = entry.partitions[0]
            self._reached[partition] = max(self._reached[partition], entry.last + 1)
            member.done.append((entry.t, entry.last - entry.first + 1))

    def died(self, name: str) -> None:
        """Take note of a kill, of which the member's log cannot tell."""
        member = self._members.setdefault(name, _Member())
        member.state = "killed"
        member.owned.clear()

    def owners(self) -> tuple[str | None, ...]:
        """Return the owner of each partition."""
        found: list[str | None] = [None] * self._partitions
        for name, member in self._members.items():
            for partition in member.owned:
                found[partition] = name
        return tuple(found)

    def all_open(self) -> bool:
        """Say whether every member has warmed up for all it owns; it notices only when its poll returns."""
        return all(member.owned <= member.open for member in self._members.values())

    def lag(self) -> int:
        """Return the records sent and not yet processed."""
        return sum(max(sent - reached, 0) for sent, reached in zip(self._sent, self._reached, strict=True))

    def heaviest(self) -> int:
        """Return the records sent to the partition that has most."""
        return max(self._sent)

    def next_offsets(self) -> dict[int, int]:
        """Return the offset after the last one sent, per partition."""
        return dict(enumerate(self._sent))

    def snapshot(self, now: int, run: RunView) -> Snapshot:
        """Return the picture at ``now`` ns."""
        if not self._history or now - self._history[-1][0] >= HISTORY_NS:
            self._history.append((now, self.lag()))
        return Snapshot(
            run=run,
            members=tuple(
                self._view(name, self._members[name], now) for name in sorted(self._members, key=_number)
            ),
            owners=self.owners(),
            lag=tuple(lag for _, lag in self._history),
            sent=sum(self._sent),
            processed=sum(self._reached),
            moves=self._moves,
        )

    def _view(self, name: str, member: _Member, now: int) -> MemberView:
        while member.done and member.done[0][0] < now - RATE_OVER_NS:
            member.done.popleft()
        rate = sum(records for _, records in member.done) / (RATE_OVER_NS / 1e9)
        lag = sum(max(self._sent[p] - self._reached[p], 0) for p in member.owned)
        return MemberView(name, member.pid, member.state, tuple(sorted(member.owned)), lag, rate)


def _number(name: str) -> int:
    return int(name.lstrip("m"))
