"""A live group as a planning problem.  Read-only: it asks the broker, and joins nothing.

Who owns what is taken from the assignment the broker keeps for each member, which is what the leader gave out
last; what members said when they joined is older.  So of what a strategy sends as user data only
``failover``'s priorities are read.
"""

from __future__ import annotations

import logging
import re
import ssl
import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import kafka
from kafka.errors import (
    BrokerResponseError,
    InvalidTopicError,
    KafkaError,
    UnknownTopicOrPartitionError,
    for_code,
)

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.convert import ownership, racks_of_nodes
from kafka_assignors.errors import BrokerError, CodecError, GroupError
from kafka_assignors.plan import Group, Member
from kafka_assignors.strategies import STRATEGIES

__all__ = ["LiveGroup", "read_live_group"]

ANSWER_MS = 5_000  # a broker that says nothing for so long is not there
_PAUSE_S = 0.2
_REBALANCING = ("PreparingRebalance", "CompletingRebalance")

_LAST = 0
"""Stands for the group's generation, which the broker does not tell: it is the same for all members."""


@dataclass(frozen=True, slots=True)
class LiveGroup:
    """A group as its broker describes it.

    Attributes:
        group: members with what they own, and the topics they subscribe to.
        strategy: the name of the strategy it runs, which need not be one of ours.
    """

    group: Group
    strategy: str


def read_live_group(settings: Mapping[str, Any], group_id: str) -> LiveGroup:
    """Ask the broker for a group.

    Args:
        settings: as ``connection_settings`` makes them.
        group_id: the group.

    Raises:
        BrokerError: nobody answers, or the answer is no.
        GroupError: there is no such group, nobody in it, or no way to plan for it.
    """
    admin = _connect(settings)
    try:
        described = describe(admin, group_id)
        members = members_of(group_id, described)
        try:
            topics = admin.describe_topics(sorted({t for m in members for t in (*m.topics, *m.owned)}))
        except KafkaError as error:
            raise BrokerError(f"the broker does not describe the group's topics: {error}") from error
        racks = _replica_racks(admin, topics, {m.rack for m in members if m.rack})
    finally:
        with suppress(KafkaError):
            admin.close()
    return LiveGroup(Group(members, partition_counts(topics), racks), described["protocol_data"])


def describe(
    admin: Any,
    group_id: str,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> Mapping[str, Any]:
    """kafka-python's description of a group, after waiting a little for the broker and the group to settle.

    Raises:
        BrokerError: the broker does not say.
        GroupError: a member sent what kafka-python cannot decode.
    """
    deadline = clock() + ANSWER_MS / 1000
    while True:
        try:
            described: Mapping[str, Any] = admin.describe_groups([group_id])[group_id]
        except KafkaError as error:  # a coordinator may just be moving, or its topic be in the making
            if not error.retriable or clock() >= deadline:
                raise BrokerError(f"the broker does not describe group {group_id!r}: {error}") from error
        except Exception as error:  # what members sent may be anything
            raise GroupError(f"a member of {group_id!r} sent a subscription that cannot be read") from error
        else:
            if described["group_state"] not in _REBALANCING or clock() >= deadline:
                return described
        wait(_PAUSE_S)


def members_of(group_id: str, described: Mapping[str, Any]) -> tuple[Member, ...]:
    """The members, from kafka-python's description of a group.

    Raises:
        GroupError: see ``read_live_group``.
    """
    state, error = described["group_state"], described["error"]
    if "not a classic group" in (error or ""):
        raise GroupError(f"group {group_id!r} lets the broker assign (KIP-848): it runs no strategy")
    if state == "Dead":
        raise GroupError(f"there is no group {group_id!r}")
    if error:
        raise GroupError(f"the broker does not describe group {group_id!r}: {error}")
    if not described["members"]:
        raise GroupError(f"group {group_id!r} has no members: there is nobody to plan for")
    if described["protocol_type"] != "consumer":
        raise GroupError(f"group {group_id!r} is not one of consumers but of {described['protocol_type']!r}")
    if state in _REBALANCING:  # then the broker does not tell who subscribes to what
        raise GroupError(f"group {group_id!r} is rebalancing ({state}): try again when it has settled")
    kind = STRATEGIES.get(described["protocol_data"])
    ranks = kind() if kind is not None and kind.by_priority else None
    return tuple(_member(group_id, member, ranks) for member in described["members"])


def _member(group_id: str, member: Mapping[str, Any], ranks: Assignor | None) -> Member:
    subscription, assignment = member["member_metadata"], member["member_assignment"] or {}
    for what, value in (("subscription", subscription), ("assignment", assignment)):
        if not isinstance(value, Mapping):  # left as it came: no consumer's
            raise GroupError(f"the {what} of member {member['member_id']!r} of {group_id!r} cannot be read")
    entries: Iterable[Mapping[str, Any]] = assignment.get("assigned_partitions") or ()
    return Member(
        member_id=member["member_id"],
        topics=frozenset(subscription["topics"] or ()),
        owned=ownership((entry["topic"], p) for entry in entries for p in entry["partitions"] or ()),
        generation=_LAST,
        instance_id=member["group_instance_id"] or None,
        rack=subscription.get("rack_id") or None,
        priority=None if ranks is None else _priority(ranks, subscription.get("user_data")),
    )


def _priority(strategy: Assignor, user_data: str | None) -> int | None:
    """As the group's leader reads it: nonsense is no priority."""
    try:
        return strategy.decode_user_data(as_bytes(user_data or "")).priority
    except CodecError:
        return None


def as_bytes(text: str) -> bytes:
    r"""The bytes kafka-python describes by a text: UTF-8, and where they are not that, ``\x99``.

    Four bytes that are themselves such a sequence cannot be told from the one byte it stands for.
    """
    return re.sub(rb"\\x([89a-f][0-9a-f])", lambda found: bytes.fromhex(found[1].decode()), text.encode())


def partition_counts(topics: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Partitions of each topic that exists, from kafka-python's description of topics.

    Raises:
        GroupError: a topic the user may not see, or one that cannot be looked at now.
    """
    counts = {}
    for topic in topics:
        error = for_code(topic["error_code"])
        if error in {UnknownTopicOrPartitionError, InvalidTopicError}:
            continue
        if topic["error_code"]:
            raise GroupError(f"the broker does not describe topic {topic['name']!r}: {error.__name__}")
        counts[topic["name"]] = len(topic["partitions"])
    return counts


def _replica_racks(
    admin: Any, topics: Sequence[Mapping[str, Any]], racks: Collection[str]
) -> dict[str, list[frozenset[str]]]:
    """The racks, out of ``racks``, of each partition's replicas; without any, the brokers' are not asked for.

    Raises:
        BrokerError: the broker does not say.
    """
    if not racks:
        return {}
    try:
        brokers = admin.describe_cluster()["brokers"]
    except KafkaError as error:
        raise BrokerError(f"the broker does not describe the cluster: {error}") from error
    return replica_racks(topics, brokers, racks)


def replica_racks(
    topics: Iterable[Mapping[str, Any]], brokers: Iterable[Mapping[str, Any]], racks: Container[str]
) -> dict[str, list[frozenset[str]]]:
    """The same from kafka-python's descriptions of topics and brokers."""
    return racks_of_nodes(
        {broker["broker_id"]: broker["rack"] for broker in brokers if broker["rack"] in racks},
        {
            topic["name"]: [
                tuple(partition["replica_nodes"])
                for partition in sorted(topic["partitions"], key=itemgetter("partition_index"))
            ]
            for topic in topics
        },
    )


class _LastWords(logging.Handler):
    """Keeps why a connection was lost: kafka-python logs it, and raises only that it took too long."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.why: object = None

    def emit(self, record: logging.LogRecord) -> None:
        if "Connection lost: " in record.msg and isinstance(record.args, tuple):
            self.why = record.args[-1]


def no_way_in(where: str, why: object) -> str:
    """What is said of a connection that was lost, or never was: a broker that refuses us does answer."""
    text = re.sub(r"^\[Error \d+\] ", "", str(why))
    if isinstance(why, (BrokerResponseError, ssl.SSLError)) or "SSL" in text:
        return f"the broker at {where} does not let us in: {text}"
    return f"no Kafka broker answers at {where}: {text}"


def _connect(settings: Mapping[str, Any]) -> Any:
    words = _LastWords()
    log = logging.getLogger("kafka.net.connection")
    log.addHandler(words)
    try:
        return kafka.KafkaAdminClient(
            **settings, bootstrap_timeout_ms=ANSWER_MS, request_timeout_ms=ANSWER_MS
        )
    except (KafkaError, OSError, ValueError) as error:  # ValueError: no such mechanism on this machine
        where = ",".join(settings["bootstrap_servers"])
        raise BrokerError(no_way_in(where, words.why or error)) from error
    finally:
        log.removeHandler(words)
