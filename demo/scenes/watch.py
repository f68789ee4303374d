"""Pure: the group at this moment, for the view and for conditions to wait for.

It keeps running counts over the logs while they are written.  The results come from the finished logs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from demo.group.logs import Entry
from demo.view.picture import MemberView, State

RATE_OVER_NS = 2_000_000_000  # records/s are the mean of the last 2 s


@dataclass(slots=True)
class _Member:
    pid: int = 0
    state: State = "starting"
    owned: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)  # warmed up for
    generation: int = -1
    probing: bool = False
    warmups: tuple[int, ...] = ()
    standbys: tuple[int, ...] = ()
    behind: int = -1  # the largest lag of a standby; -1: not known
    done: deque[int] = field(default_factory=deque)  # times of the last seconds' records


class Watch:
    """Counts over the logs' entries, fed as they come."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._members: dict[str, _Member] = {}
        self._sent = [0] * partitions  # next offset
        self._reached = [0] * partitions
        self.last_change = 0  # ns: ownership, warm-ups or a generation changed, or a partition was opened

    def begin(self) -> None:
        """Forget all members: others come."""
        self._members.clear()

    def feed_sent(self, entry: Entry) -> None:
        """Count a ``sent`` entry."""
        partition = entry.partitions[0]
        self._sent[partition] = max(self._sent[partition], entry.last + 1)

    def feed(self, name: str, entry: Entry) -> None:
        """Count a member's entry."""
        member, partitions = self._members.setdefault(name, _Member()), set(entry.partitions)
        if entry.event in {"opened", "assigned", "revoked", "lost", "state", "warmups"}:
            self.last_change = max(self.last_change, entry.t)
        match entry.event:
            case "started":
                member.pid = int(entry.note or 0)
            case "joined":
                member.state = "running"
            case "opened":
                member.open |= partitions
            case "assigned":
                member.owned |= partitions
                member.open &= member.owned  # a partition that did not come back must be opened anew
            case "revoked" | "lost":
                member.owned -= partitions
            case "state":
                member.state, member.owned, member.generation = "running", partitions, entry.generation
                member.probing = bool(entry.note)
            case "warmups":
                member.warmups = entry.partitions
            case "standbys":
                member.standbys, member.behind = entry.partitions, entry.last
            case "left":
                member.state = "left"
            case "done":
                partition = entry.partitions[0]
                self._reached[partition] = max(self._reached[partition], entry.last + 1)
                member.done.append(entry.t)

    def died(self, name: str) -> None:
        """Note a kill, which the member's log cannot contain."""
        self._members[name] = _Member(pid=self._members.get(name, _Member()).pid, state="killed")

    def _present(self) -> list[_Member]:
        return [member for member in self._members.values() if member.state not in {"left", "killed"}]

    def owners(self) -> tuple[str | None, ...]:
        """Return the owner of each partition."""
        owner = {partition: name for name, member in self._members.items() for partition in member.owned}
        return tuple(owner.get(partition) for partition in range(self._partitions))

    def all_open(self) -> bool:
        """Whether each member has warmed up for all it owns; it notices only when its poll returns."""
        return all(member.owned <= member.open for member in self._members.values())

    def balanced(self, members: int, standbys: int) -> bool:
        """Whether so many members share all tasks evenly, each with its standbys, and wait for no copy."""
        present = self._present()
        counts = [len(member.owned) for member in present]
        return (
            len(present) == members
            and len({member.generation for member in present}) == 1
            and sorted(task for member in present for task in member.owned) == list(range(self._partitions))
            and max(counts) - min(counts) <= 1
            and not any(member.probing or member.warmups for member in present)
            and sum(len(member.standbys) for member in present) == standbys * self._partitions
        )

    def copies_up_to_date(self, lag: int) -> bool:
        """Whether the lag of every standby is known and at most ``lag``."""
        return all(0 <= member.behind <= lag for member in self._present())

    def lag(self) -> int:
        """Return the records sent and not yet processed."""
        return sum(self._lag(partition) for partition in range(self._partitions))

    def _lag(self, partition: int) -> int:
        return max(self._sent[partition] - self._reached[partition], 0)

    @property
    def processed(self) -> int:
        """Distinct processed records, if none was left out."""
        return sum(self._reached)

    @property
    def sent(self) -> int:
        """Records sent."""
        return sum(self._sent)

    @property
    def heaviest(self) -> int:
        """Records sent to the partition that has most."""
        return max(self._sent)

    def next_offsets(self) -> dict[int, int]:
        """Return the offset after the last sent record, per partition."""
        return dict(enumerate(self._sent))

    def shares(self) -> str:
        """Return each member's number of partitions and copies, as text."""
        return "  ".join(
            f"{name} {len(member.owned)}" + (f"+{copies}" if (copies := _copies(member)) else "")
            for name, member in sorted(self._members.items(), key=_number)
            if member.state not in {"left", "killed"}
        )

    def members(self, now: int) -> tuple[MemberView, ...]:
        """Return the members at ``now`` ns."""
        return tuple(
            self._view(name, member, now) for name, member in sorted(self._members.items(), key=_number)
        )

    def _view(self, name: str, member: _Member, now: int) -> MemberView:
        while member.done and member.done[0] < now - RATE_OVER_NS:
            member.done.popleft()
        return MemberView(
            name=name,
            pid=member.pid,
            state=member.state,
            partitions=tuple(sorted(member.owned)),
            copies=_copies(member),
            lag=sum(self._lag(partition) for partition in member.owned),
            rate=len(member.done) / (RATE_OVER_NS / 1e9),
        )


def _copies(member: _Member) -> int:
    return len(member.standbys) + len(member.warmups)


def _number(named: tuple[str, _Member]) -> int:
    return int(named[0].lstrip("m"))
