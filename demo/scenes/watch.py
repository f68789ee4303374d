"""Pure: the group at this moment, for the view and for conditions to wait for.

`Watch` counts the logs' entries while they are written.  The results come from the finished logs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from demo.group.logs import Entry


@dataclass(slots=True)
class _Member:
    gone: bool = False  # left or killed
    owned: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)  # warmed up for
    generation: int = -1
    probing: bool = False
    warmups: tuple[int, ...] = ()
    standbys: tuple[int, ...] = ()
    behind: int = -1  # the largest lag of a standby; -1: not known


class Watch:
    """Counts of the logs' entries so far."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._members: dict[str, _Member] = {}
        self._sent = [0] * partitions  # next offset
        self._reached = [0] * partitions
        self.last_change = 0  # ns: ownership, warm-ups or a generation changed, or a partition was opened

    def begin(self) -> None:
        """Forget all members, before others start."""
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
            case "opened":
                member.open |= partitions
            case "assigned":
                member.owned |= partitions
                member.open &= member.owned  # others must be opened again if they return
            case "revoked" | "lost":
                member.owned -= partitions
            case "state":
                member.owned, member.generation = partitions, entry.generation
                member.probing = bool(entry.note)
            case "warmups":
                member.warmups = entry.partitions
            case "standbys":
                member.standbys, member.behind = entry.partitions, entry.last
            case "left":
                member.gone = True
            case "done":
                partition = entry.partitions[0]
                self._reached[partition] = max(self._reached[partition], entry.last + 1)

    def died(self, name: str) -> None:
        """Note a kill, which the member's log cannot contain."""
        self._members[name] = _Member(gone=True)

    def _present(self) -> list[_Member]:
        return [member for member in self._members.values() if not member.gone]

    def owners(self) -> tuple[str | None, ...]:
        """Return the owner of each partition."""
        owner = {partition: name for name, member in self._members.items() for partition in member.owned}
        return tuple(owner.get(partition) for partition in range(self._partitions))

    def all_open(self) -> bool:
        """Whether each member has warmed up for all it owns; a member warms up when its poll returns."""
        return all(member.owned <= member.open for member in self._members.values())

    def balanced(self, members: int, standbys: int) -> bool:
        """Whether this number of members share all tasks evenly, with all standbys, and wait for no copy."""
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
        return sum(max(sent - reached, 0) for sent, reached in zip(self._sent, self._reached, strict=True))

    @property
    def processed(self) -> int:
        """Distinct processed records, if no offset was skipped."""
        return sum(self._reached)

    @property
    def sent(self) -> int:
        """Records sent."""
        return sum(self._sent)

    @property
    def heaviest(self) -> int:
        """Records sent to the partition with the most records."""
        return max(self._sent)

    def next_offsets(self) -> dict[int, int]:
        """Return the offset after the last sent record, per partition."""
        return dict(enumerate(self._sent))

    def shares(self) -> str:
        """Return each member's number of partitions and copies, as text."""
        return "  ".join(
            f"{name} {len(member.owned)}"
            + (f"+{copies}" if (copies := len(member.standbys) + len(member.warmups)) else "")
            for name, member in sorted(self._members.items(), key=lambda item: int(item[0].lstrip("m")))
            if not member.gone
        )
