"""Pure: what the stateful group is like at the moment, as its logs tell it."""

from __future__ import annotations

from dataclasses import dataclass

from demo.group.logs import Entry


@dataclass(slots=True)
class _Member:
    ready: tuple[int, ...] = ()
    generation: int = -1
    probing: bool = False
    warmups: tuple[int, ...] = ()
    standbys: tuple[int, ...] = ()
    behind: int = -1  # the most records a standby lacks; -1: not known


class GroupWatch:
    """Follows the logs while they are written; records are followed over all acts, members in one.

    Args:
        tasks: of the topic.
    """

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._members: dict[str, _Member] = {}
        self._sent = [0] * tasks
        self._reached = [0] * tasks
        self.last_change = 0  # ns: when a member's tasks, warm-ups or generation were others than before

    def begin(self) -> None:
        """Other members come."""
        self._members.clear()

    def feed_sent(self, entry: Entry) -> None:
        """Take note of a ``sent`` entry."""
        task = entry.partitions[0]
        self._sent[task] = max(self._sent[task], entry.last + 1)

    def feed(self, name: str, entry: Entry) -> None:
        """Take note of what a member did."""
        member = self._members.setdefault(name, _Member())
        if entry.event == "done":
            task = entry.partitions[0]
            self._reached[task] = max(self._reached[task], entry.last + 1)
        elif entry.event == "state":
            member.ready, member.generation = entry.partitions, entry.generation
            member.probing = bool(entry.note)
            self.last_change = max(self.last_change, entry.t)
        elif entry.event == "warmups":
            member.warmups = entry.partitions
            self.last_change = max(self.last_change, entry.t)
        elif entry.event == "standbys":
            member.standbys, member.behind = entry.partitions, entry.last

    def died(self, name: str) -> None:
        """Take note of a kill, of which the member's log cannot tell."""
        self._members.pop(name, None)

    def balanced(self, members: int, standbys: int) -> bool:
        """Whether so many members share all tasks evenly and wait for nothing.

        Args:
            members: that live.
            standbys: copies that there are to be of each task, up to date or not.
        """
        there = list(self._members.values())
        counts = [len(member.ready) for member in there]
        return (
            len(there) == members
            and len({member.generation for member in there}) == 1
            and sorted(task for member in there for task in member.ready) == list(range(self._tasks))
            and max(counts) - min(counts) <= 1
            and not any(member.probing or member.warmups for member in there)
            and sum(len(member.standbys) for member in there) == standbys * self._tasks
        )

    def copies_up_to_date(self, lag: int) -> bool:
        """Whether no standby lacks more records than that."""
        return all(0 <= member.behind <= lag for member in self._members.values())

    def lag(self) -> int:
        """Records sent and not yet processed."""
        return sum(max(sent - done, 0) for sent, done in zip(self._sent, self._reached, strict=True))

    @property
    def processed(self) -> int:
        """Distinct records, if none was left out."""
        return sum(self._reached)

    @property
    def sent(self) -> int:
        """Records sent."""
        return sum(self._sent)

    def next_offsets(self) -> dict[int, int]:
        """The offset after the last one sent, per partition."""
        return dict(enumerate(self._sent))

    def shares(self) -> str:
        """How many tasks, and copies, each member has, in a few words."""
        found: list[str] = []
        for name, member in sorted(self._members.items()):
            copies = len(member.standbys) + len(member.warmups)
            found.append(f"{name} {len(member.ready)}" + (f"+{copies}" if copies else ""))
        return "  ".join(found)
