"""A group that rebalances, as ``watch`` sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka_assignors.cli.watch_group.history import Snapshot
from kafka_assignors.cli.watch_group.source import GroupLag, Observation
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.plan import TopicPartition

START = 1_795_262_400.0  # 2026-11-21 12:00:00 UTC
TOPICS = {"orders": 4, "payments": 2}
UUID = "-0000-4000-8000-0123456789ab"


def tps(*names: str) -> tuple[TopicPartition, ...]:
    """``orders-0`` and so on."""
    return tuple(TopicPartition(topic, int(p)) for topic, _, p in (name.rpartition("-") for name in names))


def member(
    name: str,
    *owned: str,
    instance: str | None = None,
    topics: Iterable[str] = TOPICS,
    generation: int = -1,
    host: str = "10.0.0.7",
) -> GroupMember:
    """A member with the client id ``name`` less its last part."""
    return GroupMember(
        name,
        instance,
        name.split("-", maxsplit=1)[0],
        host,
        tps(*owned),
        topics=frozenset(topics),
        generation=generation,
    )


def snapshot(
    at_s: float,
    *members: GroupMember,
    state: str = "Stable",
    strategy: str = "cooperative-sticky",
    topics: Mapping[str, int | None] = TOPICS,
) -> Snapshot:
    """The group ``at_s`` seconds after the start; during a rebalance without what the broker leaves out."""
    if state != "Stable":
        members = tuple(GroupMember(m.member_id, m.instance_id, m.client_id, m.host, ()) for m in members)
        strategy = ""
    return Snapshot(START + at_s, GroupState("billing", state, strategy, members, {}), topics)


def look(view: Snapshot, problem: str = "", **lags: int) -> Observation:
    """A look with the lags of ``orders_0`` and so on; 0 elsewhere."""
    known = {tp: 0 for member in view.group.members for tp in member.owned}
    known |= {tps(name.replace("_", "-"))[0]: lag for name, lag in lags.items()}
    return Observation(view, known.keys(), GroupLag(view.time_s, known, problem))


W1, W2, W3 = (
    f"worker-{n}-{digits}{UUID}" for n, digits in ((1, "1f0c2d34"), (2, "9a8b7c6d"), (3, "5e6f7081"))
)

TWO = (
    member(W1, "orders-0", "orders-1", "payments-0", generation=3),
    member(W2, "orders-2", "orders-3", "payments-1", generation=3, host="10.0.0.8"),
)
FIRST_ROUND = (
    member(W1, "orders-0", "payments-0", generation=4),
    member(W2, "orders-2", "payments-1", generation=4, host="10.0.0.8"),
    member(W3, host="10.0.0.9"),
)
THREE = (
    member(W1, "orders-0", "payments-0", generation=5),
    member(W2, "orders-2", "payments-1", generation=5, host="10.0.0.8"),
    member(W3, "orders-1", "orders-3", generation=5, host="10.0.0.9"),
)
