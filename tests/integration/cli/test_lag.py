"""``kafka-assignors lag`` on live groups of our and of other clients, once and watched."""

from __future__ import annotations

import json
import signal
import struct
from pathlib import Path

import pytest
from kafka.admin import ResourceType

from kafka_assignors import CooperativeStickyAssignor
from kafka_assignors.broker.ports import free_ports
from kafka_assignors.plan import TopicPartition
from tests.integration.cli.handmade_member import SOUND, raw_member
from tests.integration.cli.lag_command import lag, refused, run, watched
from tests.integration.conftest import FreshNames
from tests.integration.guarded import PASSWORD, Guarded, login
from tests.integration.lagging import commit, write
from tests.integration.members import Group, about

UNREADABLE = SOUND.replace(b"t", b"\xff")  # a topic that is no text


def test_lag_of_a_live_group(fresh: FreshNames) -> None:
    with Group(fresh, 4) as group:
        group.join_all(2, CooperativeStickyAssignor)
        owned = group.settled()
        rebalances = [member.rebalances() for member in group.members]
        report = lag(group.bootstrap, group.group_id)
        assert [member.rebalances() for member in group.members] == rebalances  # no member noticed
        assert (report["state"], report["strategy"]) == ("Stable", "cooperative-sticky")
        ids = {about(member, "member_id"): owned[member.name] for member in group.members}
        assert {entry["id"] for entry in report["members"]} == set(ids)
        for entry in report["partitions"]:
            assert TopicPartition(entry["topic"], entry["partition"]) in ids[entry["member"]]
        assert len(report["partitions"]) == 4
        assert all(entry["host"] for entry in report["members"])  # Docker shows another than the one we have


def test_group_without_members_shows_its_commits(fresh: FreshNames) -> None:
    tp, group_id = TopicPartition(fresh.topic(2), 0), fresh.group()
    write(fresh.bootstrap, {tp: 5})
    commit(fresh.bootstrap, group_id, {tp: 3})
    report = lag(fresh.bootstrap, group_id)
    assert (report["state"], report["members"], report["lag"]) == ("Empty", [], 2)
    (entry,) = report["partitions"]
    assert 0 <= entry["time_lag_ms"] < 60_000
    assert entry["retention_left"] > 0.9  # of a week
    expected = {"topic": tp.topic, "partition": 0, "member": None, "begin": 0, "committed": 3, "end": 5}
    assert expected.items() <= entry.items()
    table = run(group_id, "--bootstrap", fresh.bootstrap)
    assert table.stdout.splitlines()[0] == f"{group_id}: Empty, 0 members, 1 partition of 1 topic"


def test_member_with_unreadable_subscription_keeps_its_assignment(fresh: FreshNames) -> None:
    """``plan`` fails for such a group, because its subscriptions are unknown."""
    group_id, tp = fresh.group(), TopicPartition(fresh.topic(2), 1)
    write(fresh.bootstrap, {tp: 5})
    topic = tp.topic.encode()
    given = struct.pack(f">hih{len(topic)}siii", 0, 1, len(topic), topic, 1, 1, -1)
    with raw_member(fresh.bootstrap, group_id, "consumer", UNREADABLE, given):
        report = lag(fresh.bootstrap, group_id)
    (member,) = report["members"]
    assert (member["readable"], member["partitions"], member["lag"]) == (True, 1, 5)
    assert [(entry["topic"], entry["partition"]) for entry in report["partitions"]] == [tuple(tp)]


def test_missing_broker_is_one_line() -> None:
    (port,) = free_ports(1)
    message = refused("g", "--bootstrap", f"127.0.0.1:{port}")
    assert message.startswith(f"no Kafka broker answers at 127.0.0.1:{port}: ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_watch_runs_until_a_signal(fresh: FreshNames, number: signal.Signals) -> None:
    tp, group_id = TopicPartition(fresh.topic(), 0), fresh.group()
    commit(fresh.bootstrap, group_id, {tp: 0})
    words = [group_id, "--bootstrap", fresh.bootstrap, "--watch", "--every", "0.2", "--output", "json"]
    with watched(*words) as program:
        assert program.stdout is not None
        assert json.loads(program.stdout.readline())["lag"] == 0
        write(fresh.bootstrap, {tp: 3})
        while json.loads(program.stdout.readline())["lag"] != 3:
            pass
        program.send_signal(number)
        _, message = program.communicate(timeout=30)
        assert (program.returncode, message) == (0, "")


def test_closed_pipe_ends_the_command_quietly(fresh: FreshNames) -> None:
    tp, group_id = TopicPartition(fresh.topic(), 0), fresh.group()
    commit(fresh.bootstrap, group_id, {tp: 0})
    with watched(group_id, "--bootstrap", fresh.bootstrap, "--watch", "--every", "0.1") as program:
        assert program.stdout is not None
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr is not None
        assert program.stderr.read() == ""
        assert program.wait(timeout=30) == 0


def test_denied_login_group_and_topic(guarded: Guarded, tmp_path: Path) -> None:
    names = FreshNames(guarded.bootstrap)
    group_id = names.group()
    seen, hidden = (TopicPartition(topic, 0) for topic in names.topics(1, 1))
    write(guarded.bootstrap, {seen: 3, hidden: 5})
    commit(guarded.bootstrap, group_id, {seen: 1, hidden: 1})
    words = [group_id, *login(guarded, tmp_path / "client.properties")]

    message = refused(*words, KAFKA_ASSIGNORS_SASL_PLAIN_PASSWORD="wrong-" + PASSWORD)
    assert "refused the connection" in message
    assert PASSWORD not in message
    right = {"KAFKA_ASSIGNORS_SASL_PLAIN_PASSWORD": PASSWORD}
    assert "not authorised to describe the group" in refused(*words, **right)
    guarded.allow(ResourceType.GROUP, group_id)
    guarded.allow(ResourceType.TOPIC, seen.topic)
    done = run(*words, "--output", "json", **right)
    assert (done.returncode, done.stderr) == (
        0,
        f"note: retention unknown: a broker does not return the configuration of topic {seen.topic}: "
        "the client needs the right DescribeConfigs on the topic\n",
    )
    report = json.loads(done.stdout)
    # A broker leaves out commits of topics without the right to describe them.
    assert [(entry["topic"], entry["lag"]) for entry in report["partitions"]] == [(seen.topic, 2)]
