"""Warnings about bad data from members: in each rebalance, one for each member, for at most 20 members."""

from __future__ import annotations

import logging

from kafka_assignors.plan import Claims, Group, listed, shown

MOST_MEMBERS = 20
MOST_TOPICS = 5  # a member may send thousands of names
MOST_CHARACTERS = 50

_NO_TOPIC = "subscribes to no topic"


class Complaints:
    """Collects complaints by member id while a group is read, and logs them at the end."""

    def __init__(self) -> None:
        self._by_member: dict[str, list[str]] = {}
        self._expected: dict[str, list[str]] = {}  # member id -> topics that stale metadata does not list

    def add(self, member_id: str, complaint: str) -> None:
        """Add a complaint about a member."""
        self._by_member.setdefault(member_id, []).append(complaint)

    def about_topics(self, group: Group, *, is_stale: bool = False) -> None:
        """Report members without topics, and unknown topics (each once, at its first subscriber).

        Metadata that ``is_stale`` may list a topic later, so an unknown topic is then no member's fault.
        """
        unknown: dict[str, list[str]] = {}
        named: set[str] = set()
        seen: set[frozenset[str]] = set()
        for member in group.members:
            if not member.topics:
                self.add(member.member_id, _NO_TOPIC)
            if member.topics in seen:
                continue
            seen.add(member.topics)
            for topic in sorted(member.topics - group.topics.keys() - named):
                named.add(topic)
                unknown.setdefault(member.member_id, []).append(topic)
        if is_stale:
            self._expected = unknown
            return
        for member_id, topics in unknown.items():
            self.add(member_id, f"subscribes to unknown {_topics_text(topics)}")

    def about_claims(self, claims: Claims) -> None:
        """Report claims on unknown partitions, and conflicting claims.

        If several members claim a partition in the highest generation, all but the most senior of them are
        reported.  An older claim is no error: the newest wins.
        """
        for member_id, count in claims.refused.items():
            self.add(member_id, f"claims {partitions_text(count)} that do{_es(count)} not exist")
        for member_id, (other, count) in claims.disputed.items():
            self.add(
                member_id,
                f"claims {partitions_text(count)} that others ({shown(other)}) claim in the same generation",
            )

    def lines(self) -> list[str]:
        """Return one line for each member with a complaint."""
        return [_line(member_id, complaints) for member_id, complaints in sorted(self._by_member.items())]

    def log(self, logger: logging.Logger, strategy: str) -> None:
        """Log a warning for each line, for the first ``MOST_MEMBERS`` members."""
        for member_id, topics in sorted(self._expected.items())[:MOST_MEMBERS]:
            subscribes = f"member {shown(member_id)} subscribes to {_topics_text(topics)}"
            logger.info("%s: %s, which the metadata does not list yet", strategy, subscribes)
        lines = self.lines()
        for line in lines[:MOST_MEMBERS]:
            logger.warning("%s: %s", strategy, line)
        if (more := len(lines) - MOST_MEMBERS) > 0:
            logger.warning("%s: %d more member%s with complaints", strategy, more, "s" * (more != 1))


def _line(member_id: str, complaints: list[str]) -> str:
    wrong = len(complaints) - (_NO_TOPIC in complaints)
    consequence = f"; the leader ignores {'that part' if wrong == 1 else 'those parts'}" if wrong else ""
    return f"member {shown(member_id)} {', '.join(complaints)}{consequence}"


def _topics_text(topics: list[str]) -> str:
    examples = listed(topics, MOST_TOPICS, name=lambda topic: repr(topic[:MOST_CHARACTERS]))
    return f"topic{'s' * (len(topics) > 1)} {examples}"


def partitions_text(count: int) -> str:
    """Return ``1 partition`` or ``2 partitions``."""
    return f"{count} partition{'s' * (count != 1)}"


def _es(count: int) -> str:
    return "es" * (count == 1)
