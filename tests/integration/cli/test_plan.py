"""``kafka-assignors plan --group`` on live groups: it predicts the rebalance, and no member notices."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_assignors import Assignor, CooperativeStickyAssignor, RangeAssignor, StickyAssignor
from kafka_assignors.plan import Ownership
from tests.integration.cli.handmade_member import SOUND, raw_member, retried
from tests.integration.cli.plan_command import as_planned, plan, refused, run
from tests.integration.conftest import FreshNames
from tests.integration.members import Group, about
from tests.support.quick import long

PARTITIONS = (16, 8)


@pytest.mark.parametrize("strategy", [long(StickyAssignor), CooperativeStickyAssignor], ids=lambda s: s.name)
def test_plan_predicts_the_rebalance_and_changes_nothing(fresh: FreshNames, strategy: type[Assignor]) -> None:
    with Group(fresh, *PARTITIONS) as group:
        group.join_all(3, strategy)
        before = group.settled()
        members = {member.name: member for member in group.members}
        generations = [about(member, "generation") for member in group.members]
        rebalances = [member.rebalances() for member in group.members]

        now = plan(group)
        assert now["strategy"] == strategy.name
        assert now["assignment"] == as_planned(before, members)
        assert {why["reason"] for why in now["why"]} == {"kept"}
        # The command must not cause a rebalance.
        assert group.settled() == before
        assert [about(member, "generation") for member in group.members] == generations
        assert [member.rebalances() for member in group.members] == rebalances

        leaver = members["m1"]
        gone = about(leaver, "member_id")
        predicted = plan(group, "--without", gone)
        leaver.close()
        assert predicted["assignment"] == as_planned(group.settled(), members)
        reasons = {(why["topic"], why["partition"]): why["reason"] for why in predicted["why"]}
        assert {tp for tp, reason in reasons.items() if reason == f"owner gone: {gone}"} == before["m1"]


class Theirs(RangeAssignor):
    """An unknown strategy with unreadable user data."""

    name = "theirs"

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        return b"\x99\xff secret handshake"


def test_unknown_strategy_needs_the_option(fresh: FreshNames) -> None:
    """The broker stores the assignment, so another strategy can be tried."""
    with Group(fresh, 4) as group:
        group.join(Theirs)
        owned = group.settled()
        assert run("--group", group.group_id, "--bootstrap", group.bootstrap).returncode == 2
        outcome = plan(group, "--strategy", "sticky")
        assert outcome["assignment"] == as_planned(owned, {"m0": group.members[0]})
        assert outcome["metrics"]["kept"] == 4


def test_missing_and_empty_groups_are_refused(fresh: FreshNames) -> None:
    name = fresh.group()
    assert refused(fresh.bootstrap, name) == f"there is no group {name!r}"
    with Group(fresh, 2) as group:
        group.join(RangeAssignor)
        group.settled()
        group.members[0].close()
        message = refused(fresh.bootstrap, group.group_id)
    assert message == f"group {group.group_id!r} has no members to plan for"


def test_refused_connection_names_its_cause(fresh: FreshNames, tmp_path: Path) -> None:
    """The connection's error names the cause; kafka-python only raises a timeout."""
    config = tmp_path / "client.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=al\nsasl.password=s3cret\n"
    )
    message = refused(fresh.bootstrap, "g", "--config", str(config))
    assert message == f"the broker at {fresh.bootstrap} refused the connection: IllegalSaslStateError"


def exactly(connection: socket.socket, size: int) -> bytes:
    """Receive this many bytes."""
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        assert part, "the broker closed the connection"
        data += part
    return data


def test_kip_848_group_is_refused(fresh: FreshNames) -> None:
    """kafka-python cannot be a member of one (KIP-848), so its first heartbeat is written by hand."""
    name, topic = fresh.group(), fresh.topic()

    def text(value: str) -> bytes:
        return bytes([len(value) + 1]) + value.encode()

    head = struct.pack(">hhih", 68, 0, 1, -1) + b"\0"  # ConsumerGroupHeartbeat v0, null client id
    body = text(name) + text("") + struct.pack(">iBBi", 0, 0, 0, 30_000)
    body += bytes([2]) + text(topic) + bytes([0, 1, 0])  # one topic, any assignor, nothing owned
    host, _, port = fresh.bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as member:

        def beat() -> SimpleNamespace:
            member.sendall(struct.pack(">i", len(head + body)) + head + body)
            (size,) = struct.unpack(">i", exactly(member, 4))
            # Correlation id, tags, throttling, and then the error.
            return SimpleNamespace(error_code=struct.unpack_from(">h", exactly(member, size), 9)[0])

        retried(beat)
        message = refused(fresh.bootstrap, name)
    assert message == f"group {name!r} uses the KIP-848 protocol: the broker assigns, no strategy runs"


@pytest.mark.parametrize(
    ("kind", "message", "given", "why"),
    [
        long("connect", b"x", b"", "group {group!r} is no consumer group: its protocol type is 'connect'"),
        ("consumer", SOUND, None, "group {group!r} is rebalancing (CompletingRebalance): try again"),
        long("consumer", b"\x00", b"", "the subscription of member 'kafka-python"),
        long("consumer", SOUND.replace(b"t", b"\xff"), b"", "the subscription of member 'kafka-python"),
        ("consumer", SOUND, b"\x00\x00\x7f\xff\xff\xff", "the assignment of member 'kafka-python"),
    ],
    ids=["no consumers", "rebalancing", "no subscription", "no text", "no assignment"],
)
def test_groups_with_unreadable_members_are_refused(
    fresh: FreshNames, kind: str, message: bytes, given: bytes | None, why: str
) -> None:
    name = fresh.group()
    with raw_member(fresh.bootstrap, name, kind, message, given):
        assert refused(fresh.bootstrap, name, "--strategy", "range").startswith(why.format(group=name))
