"""`ContinuousConsumer` beside busy, failing and other clients' members."""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection
from pathlib import Path

import pytest
from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer

from bench.pauses.figures import Ownership, missing, owned_twice
from bench.pauses.play import Command, Group, Member, Scene, commands, play
from kafka_assignors import CooperativeStickyAssignor
from tests.integration.conftest import FreshNames
from tests.integration.groups.continuous.polled import Polled
from tests.integration.guarded import Guarded
from tests.integration.proxy import Proxy
from tests.support.waiting import until

pytestmark = pytest.mark.long


def test_batch_longer_than_the_session_keeps_the_membership(kafka_bootstrap: str, tmp_path: Path) -> None:
    """One member takes 8 s a batch, in a group whose sessions last 6 s."""
    scene = Scene(slow_s=8, partitions=12, session_ms=6000, heartbeat_ms=500)
    (command,) = commands(kafka_bootstrap, ["continuous"], tmp_path).values()
    group = play(kafka_bootstrap, "continuous", command, scene)
    assert not group.fault
    assert not [change for change in group.changes if change.is_lost]
    assert group.figures["join"].duplicates == group.figures["leave"].duplicates == 0


def test_member_with_20_s_batches_stops_no_other(kafka_bootstrap: str, tmp_path: Path) -> None:
    """With `KafkaConsumer` all partitions stand still until it polls."""
    scene = Scene(slow_s=20, partitions=12, session_ms=6000, heartbeat_ms=500)
    (command,) = commands(kafka_bootstrap, ["continuous"], tmp_path).values()
    group = play(kafka_bootstrap, "continuous", command, scene)
    assert not group.fault
    assert max(group.figures["join"].kept + group.figures["join"].moved) < 10
    assert group.figures["join"].duplicates == group.figures["leave"].duplicates == 0


def in_turn(*several: Command) -> Command:
    """Members of several kinds, one after the other."""
    turn = itertools.cycle(several)

    def command(scene: Scene, topic: str, batch_s: float) -> list[str | Path]:
        return next(turn)(scene, topic, batch_s)

    return command


@pytest.mark.parametrize("other", ["cooperative", "kafka-python", "java", "librdkafka"])
def test_every_second_member_is_of_another_client(other: str, kafka_bootstrap: str, tmp_path: Path) -> None:
    """Each kind leads once: the first member does."""

    def librdkafka(scene: Scene, topic: str, batch_s: float) -> list[str | Path]:
        python, flag, _program, order = made["continuous"](scene, topic, batch_s)
        return [python, flag, "tests.integration.foreign.librdkafka_pauses_member", order]

    kinds = ["continuous"] if other == "librdkafka" else ["continuous", other]
    made = commands(kafka_bootstrap, kinds, tmp_path)
    pair = made["continuous"], made.get(other, librdkafka)
    scene = Scene(partitions=12, session_ms=6000, heartbeat_ms=500)
    for both in (pair, pair[::-1]):
        assert not play(kafka_bootstrap, "mixed", in_turn(*both), scene).fault


class Noted(ConsumerRebalanceListener):
    """Tracks the partitions of a consumer of the test."""

    def __init__(self, group: Group) -> None:
        self.owned: frozenset[int] = frozenset()
        self._group = group

    def _note(self, partitions: Collection[tuple[str, int]], *, gained: bool) -> None:
        changed = frozenset(partition for _topic, partition in partitions)
        self.owned = self.owned | changed if gained else self.owned - changed
        self._group.note(Ownership(time.monotonic(), "holder", changed, gained))

    def on_partitions_assigned(self, assigned: Collection[tuple[str, int]]) -> None:
        """Update the partitions."""
        self._note(assigned, gained=True)

    def on_partitions_revoked(self, revoked: Collection[tuple[str, int]]) -> None:
        """Update the partitions."""
        self._note(revoked, gained=False)


def fail(member: Member, how: str, proxy: Proxy) -> None:
    """Kill or suspend a member, or cut its connections: until it is removed, or until it connects again."""
    if how == "kill":
        member.kill()
    elif how == "stop":
        member.freeze()
    else:
        accepted, proxy.mode = proxy.accepted, "cut"
        if how == "cut":
            member.disown()
        else:
            until(lambda: proxy.accepted > accepted)
            proxy.reset()


@pytest.mark.parametrize("how", ["kill", "stop", "cut", "cut for a moment"])
@pytest.mark.parametrize("step", ["joining", "answered"])
def test_busy_member_that_fails_in_a_join_loses_nothing(
    step: str, how: str, guarded: Guarded, names: FreshNames, tmp_path: Path
) -> None:
    """An unpolled consumer of the test holds the join open, so that the member waits in this step."""
    scene = Scene(partitions=6, session_ms=6000, heartbeat_ms=300)
    topic = names.topic(scene.partitions)
    group = Group(topic, scene)
    everything = list(range(scene.partitions))
    (open_door,) = commands(guarded.bootstrap, ["continuous"], tmp_path).values()
    (behind_proxy,) = commands(guarded.proxied, ["continuous"], tmp_path).values()
    holder = KafkaConsumer(
        bootstrap_servers=guarded.bootstrap,
        group_id=topic,
        session_timeout_ms=60_000,  # it stays a member, however busy the machine is
        heartbeat_interval_ms=scene.heartbeat_ms,
        auto_offset_reset="earliest",
        partition_assignment_strategy=[CooperativeStickyAssignor],
    )
    noted = Noted(group)
    holder.subscribe([topic], listener=noted)
    rest = Polled(holder, commits=False)
    producer = KafkaProducer(bootstrap_servers=guarded.bootstrap)

    def send() -> None:
        for partition in everything:
            producer.send(topic, b"x", partition=partition)
        producer.flush()

    def owned() -> list[int]:
        return sorted(
            number for owned in [noted.owned, *(m.owned for m in group.members)] for number in owned
        )

    try:
        busy = Member("busy", behind_proxy(scene, topic, 8.0), group.note).go()
        other = Member("other", open_door(scene, topic, 0.0), group.note).go()
        group.members += [busy, other]
        until(lambda: not rest.poll() and busy.owned and other.owned and owned() == everything)
        send()
        until(lambda: {d.member for d in group.deliveries} == {"busy", "other"})
        group.members.append(Member("newcomer", open_door(scene, topic, 0.0), group.note).go())
        until(lambda: _state(guarded, topic) == "PreparingRebalance")
        if step == "answered":
            until(lambda: not rest.poll() and _state(guarded, topic) == "Stable")
        fail(busy, how, guarded.proxy)
        with rest:
            until(lambda: owned() == everything)
            send()
            if how == "stop":
                busy.thaw()
            guarded.proxy.reset()
            until(lambda: (how == "kill" or busy.owned) and owned() == everything)
            ends = dict.fromkeys(everything, 2)
            until(lambda: not missing([*group.deliveries, *rest.deliveries()], ends))
        assert not owned_twice(group.changes)
    finally:
        for member in group.members:
            member.end()
        producer.close()
        holder.close()


def _state(guarded: Guarded, group_id: str) -> str:
    with KafkaAdminClient(bootstrap_servers=guarded.bootstrap) as admin:
        return str(admin.describe_groups([group_id])[group_id]["group_state"])
