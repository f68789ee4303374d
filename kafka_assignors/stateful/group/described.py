"""Pure: members as they described themselves, for the planner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import NAMESPACE_OID, UUID, uuid5

from kafka_assignors.plan import Member, TopicPartition, shown
from kafka_assignors.plan import stateful as planner
from kafka_assignors.stateful.group.able import few
from kafka_assignors.stateful.topology import Topology
from kafka_assignors.wire.stateful_subscription import Subscription
from kafka_assignors.wire.stateful_version import Newer

__all__ = ["about_processes", "as_planned"]

Said = Mapping[str, Subscription | Newer]
"""What could be read, by member id."""


def as_planned(
    topology: Topology, members: Iterable[Member], said: Said
) -> dict[str, planner.StatefulMember]:
    """Members by id; of one that cannot be read, what the consumer's own protocol tells.

    Each is a process of its own.  A directory is one member's, so two with one id of a process have copies of
    one directory: that what one has lies where the other is would be wrong.
    """
    shared = _shared(said)
    return {member.member_id: _as_planned(topology, member, said, shared) for member in members}


def about_processes(said: Said) -> str:
    """Who has the id of another one's process, in words for a warning; nothing where nobody does."""
    groups = sorted(sorted(map(shown, ids)) for ids in _shared(said).values())
    if not groups:
        return ""
    names = few([few(ids) for ids in groups], "; ")
    return (
        f"members have the same process id: {names}; was a store_dir copied? "
        "Each counts as a process of its own; delete the file `process` in the copies, while they are stopped"
    )


def _as_planned(
    topology: Topology, member: Member, said: Said, shared: Mapping[UUID, list[str]]
) -> planner.StatefulMember:
    told = said.get(member.member_id)
    process = told.process_id if told is not None else None
    if process is None or process in shared:
        process = uuid5(NAMESPACE_OID, member.member_id)
    if not isinstance(told, Subscription):
        told = Subscription(process)
    holds = topology.tasks_of(
        [TopicPartition(topic, number) for topic, numbers in member.owned.items() for number in numbers]
    )
    return planner.StatefulMember(
        member_id=member.member_id,
        process=str(process),
        rack=told.rack or member.rack,
        active=[planner.Task(*task) for task in sorted(holds)],
        standby=[planner.Task(*task) for task in told.standbys],
        lags={planner.Task(*task): lag for task, lag in told.lags.items()},
        generation=member.generation,
    )


def _shared(said: Said) -> dict[UUID, list[str]]:
    """Ids of processes that more than one member has, and which members."""
    found: dict[UUID, list[str]] = {}
    for member_id, told in said.items():
        if told.process_id:
            found.setdefault(told.process_id, []).append(member_id)
    return {process: members for process, members in found.items() if len(members) > 1}
