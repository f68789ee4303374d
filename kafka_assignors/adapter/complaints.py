"""What was wrong with what the members sent: one warning a member and rebalance."""

from __future__ import annotations

import logging

from kafka_assignors.plan import Claims, Group

__all__ = ["Complaints"]


class Complaints:
    """Collects complaints by member id while a group is read, and logs them at the end."""

    def __init__(self) -> None:
        self._by_member: dict[str, list[str]] = {}

    def add(self, member_id: str, complaint: str) -> None:
        """Note one more complaint about a member."""
        self._by_member.setdefault(member_id, []).append(complaint)

    def about_topics(self, group: Group) -> None:
        """Members without topics, and topics that do not exist (named once, at their first subscriber)."""
        unknown: dict[str, list[str]] = {}
        for member in group.members:
            if not member.topics:
                self.add(member.member_id, "subscribes to no topic")
            for topic in member.topics - group.topics.keys():
                unknown.setdefault(topic, []).append(member.member_id)
        for topic, (first, *others) in sorted(unknown.items()):
            self.add(
                first,
                f"subscribes to unknown topic {topic!r}" + (f" (and {len(others)} more do)" * bool(others)),
            )

    def about_claims(self, claims: Claims) -> None:
        """Claims on what does not exist, and on what another member of the same generation claims."""
        for member_id, count in claims.refused.items():
            self.add(member_id, f"claims {count} partitions that do not exist")
        for member_id, (other, count) in claims.disputed.items():
            self.add(member_id, f"claims {count} partitions that {other} claims in the same generation")

    def log(self, logger: logging.Logger, strategy: str) -> None:
        """One warning for each member there is a complaint about."""
        for member_id, complaints in sorted(self._by_member.items()):
            logger.warning(
                "%s: member %s %s; that part is ignored", strategy, member_id, ", ".join(complaints)
            )
