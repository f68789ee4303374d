"""``kafka-assignors plan --group`` and lag: its plan is the leader's, and no lag stops it."""

from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ResourceType

from kafka_assignors import CooperativeLagAwareAssignor, LagAwareAssignor, RangeAssignor, StickyAssignor
from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.broker import development_broker
from kafka_assignors.cli.plan.live_lag import TIMEOUT_MS
from kafka_assignors.plan import TopicPartition
from kafka_assignors.strategies import STRATEGIES
from tests.integration.cli.plan_command import as_planned, plan, run
from tests.integration.conftest import FreshNames
from tests.integration.guarded import PASSWORD, USER, Guarded
from tests.integration.lagging import commit, write
from tests.integration.members import Group, about
from tests.integration.reading import leaderless
from tests.integration.two_brokers import InZones, one_more_broker, wait_until_seen
from tests.support.waiting import until

ASSUMED = (
    "note: the group's options are unknown, assuming max_partition_skew=1, min_improvement=0.1 (--option)"
)


def filled(group: Group, *lags: int, committed: int = 1) -> dict[TopicPartition, int]:
    """Create this lag on the group's first topic, with commits, before members join."""
    tps = [TopicPartition(group.topics[0], p) for p in range(len(lags))]
    write(group.bootstrap, {tp: lag + committed for tp, lag in zip(tps, lags, strict=True)})
    commit(group.bootstrap, group.group_id, dict.fromkeys(tps, committed))
    return dict(zip(tps, lags, strict=True))


def loads(prediction: Any, lags: dict[TopicPartition, int]) -> list[int]:
    """The lag of each member of a plan."""
    return [sum(lags[TopicPartition(*entry)] for entry in mine) for mine in prediction["assignment"].values()]


@pytest.mark.parametrize("kind", [LagAwareAssignor, CooperativeLagAwareAssignor])
def test_plan_equals_the_leaders_assignment(fresh: FreshNames, kind: type[LagAssignor]) -> None:
    """At first, after a member left, and after the lag changed."""
    with Group(fresh, 8) as group:
        lags = filled(group, 400, 200, 100, 50, 40, 30, 20, 10)
        group.join_all(3, kind, options={"lag_refresh_ms": 200})
        before = group.settled()
        members = {member.name: member for member in group.members}
        now = plan(group)
        assert (now["strategy"], now["assignment"]) == (kind.name, as_planned(before, members))
        assert {why["reason"] for why in now["why"]} == {"kept"}
        assert (now["metrics"]["max_load"], now["metrics"]["load_unit"]) == (max(loads(now, lags)), "records")
        assert 400 <= now["metrics"]["load_lower_bound"] <= now["metrics"]["max_load"]
        assert ("first_round" in now) == (kind is CooperativeLagAwareAssignor)
        assert group.settled() == before

        # The partition with the least lag now has the most.
        more = dict(zip(lags, (0, 0, 0, 0, 300, 500, 700, 900), strict=True))
        write(group.bootstrap, more)
        lags = {tp: lag + more[tp] for tp, lag in lags.items()}
        group.wait_until(
            lambda: sum(about(member, "lag") for member in members.values()) == sum(lags.values()),
            "the members to measure it again",
        )
        gone = about(members["m1"], "member_id")
        foreseen = plan(group, "--without", gone)
        assert foreseen["metrics"]["max_load"] == max(loads(foreseen, lags))
        members["m1"].close()
        assert as_planned(group.settled(), members) == foreseen["assignment"]


def test_comparison_with_another_strategy(fresh: FreshNames) -> None:
    """All figures come from one fetch of lag, also for strategies that ignore lag."""
    with Group(fresh, 4) as group:
        lags = filled(group, 60, 50, 2, 1)
        group.join_all(2, RangeAssignor)
        before = group.settled()
        compared = {entry["strategy"]: entry for entry in json_of(group, "--compare")}
        assert list(compared) == list(STRATEGIES)
        for name, entry in compared.items():
            assert entry["metrics"]["max_load"] == max(loads(entry, lags)), name
            assert (entry["metrics"]["load_lower_bound"], entry["metrics"]["load_unit"]) == (60, "records"), (
                name
            )
        assert compared["range"]["metrics"]["max_load"] == 110
        better = compared["cooperative-lag-aware"]
        assert (better["metrics"]["max_load"], better["metrics"]["moved"]) == (61, 2)
        assert better == json_of(group, "--strategy", "cooperative-lag-aware")
        assert sum("moved for load" in why["reason"] for why in better["why"]) == 2
        assert group.settled() == before
        # Lag is fetched neither for strategies without lag nor with --no-lag.
        assert json_of(group)["metrics"]["load_unit"] == "partitions"
        assert json_of(group, "--compare", "--no-lag")[0]["metrics"]["load_unit"] == "partitions"


def json_of(group: Group, *words: str, expected_message: str = "") -> Any:
    """The JSON of a live group, and the notes beside it."""
    done = run("--group", group.group_id, "--bootstrap", group.bootstrap, "--output", "json", *words)
    assert (done.returncode, done.stderr) == (0, expected_message)
    return json.loads(done.stdout)


def test_reset_decides_lag_without_a_commit(fresh: FreshNames) -> None:
    with Group(fresh, 3) as group:
        topic = group.topics[0]
        write(group.bootstrap, {TopicPartition(topic, p): 10 * p for p in range(3)})
        commit(group.bootstrap, group.group_id, {TopicPartition(topic, 1): 4})
        group.join_all(2, StickyAssignor)
        group.settled()
        words = ("--strategy", "lag-aware")
        expected_message = (
            "note: no commit in 1 of 3 partitions: all their records count as lag, as with "
            "auto_offset_reset=earliest; if none should, give --reset latest\n"
        )
        assert json_of(group, *words, expected_message=expected_message)["metrics"]["max_load"] == 20
        assert json_of(group, *words, "--reset", "earliest")["metrics"]["max_load"] == 20
        assert json_of(group, *words, "--reset", "latest")["metrics"]["max_load"] == 6


def test_partitions_without_lag_count_as_their_topics_mean() -> None:
    """The leader of the other half is down; a note counts the partitions and names the cause."""
    with development_broker("jars") as broker, ExitStack() as stack:
        alone = FreshNames(broker.bootstrap)
        commit(broker.bootstrap, alone.group(), {TopicPartition(alone.topic(), 0): 0})  # coordinators stay
        with one_more_broker(broker, "b"):
            wait_until_seen(broker.bootstrap, {1: None, 2: "b"})
            group = stack.enter_context(Group(InZones(broker.bootstrap), 4))
            filled(group, 30, 7, 10, 7)
            group.join_all(2, CooperativeLagAwareAssignor)
            group.settled()
        until(lambda: len(leaderless(broker.bootstrap, *group.topics)) == 2)
        done = run("--group", group.group_id, "--bootstrap", group.bootstrap, "--output", "json")
        assert done.returncode == 0, done.stderr
        note, unknown = done.stderr.splitlines()
        assert note == ASSUMED
        cause = "LeaderNotAvailable|the cluster did not answer in time: .+"  # the last request's
        assert re.fullmatch(
            rf"note: no lag for 2 of 4 partitions \(({cause}): 2\); each counts as its topic's mean", unknown
        )
        metrics = json.loads(done.stdout)["metrics"]
        # 30 and 10 are known, so the others count as 20.
        assert (metrics["load_unit"], metrics["max_load"], metrics["load_lower_bound"]) == ("records", 40, 40)


def test_silent_cluster_falls_back_to_counts(guarded: Guarded) -> None:
    """The plan is made without it, seconds later."""
    with Group(FreshNames(guarded.bootstrap), 4) as group:
        filled(group, 30, 20, 10, 10)
        group.join_all(2, CooperativeLagAwareAssignor)
        group.settled()
        words = ("--group", group.group_id, "--bootstrap", guarded.proxied, "--output", "json")
        whole = json.loads(run(*words).stdout)
        assert whole["metrics"]["load_unit"] == "records"
        pieces = guarded.proxy.pieces
        without = run(*words, "--no-lag")
        assert without.stderr.splitlines() == [ASSUMED]
        guarded.proxy.stall_after = 2 * guarded.proxy.pieces - pieces + 1
        started = time.monotonic()
        try:
            silent = run(*words)
        finally:
            guarded.proxy.reset()
        assert time.monotonic() - started < TIMEOUT_MS / 1000 + 30
        assert silent.returncode == 0
        assert silent.stdout == without.stdout
        assumed, message, effect = silent.stderr.splitlines()
        assert assumed == ASSUMED
        # The silence begins after as many pieces as before, which may be one request earlier or later.
        silence = "the cluster did not answer in time|no broker answers"
        assert re.fullmatch(rf"note: no lag: ({silence}): .+", message)
        assert effect == "note: no lags: planning by counts"


def test_describe_rights_are_enough_to_plan(guarded: Guarded, tmp_path: Path) -> None:
    """Lag needs no other rights than the group's description, and no secret is printed."""
    with Group(FreshNames(guarded.bootstrap), 2) as group:
        filled(group, 30, 20)
        group.join_all(2, CooperativeLagAwareAssignor)
        group.settled()
        guarded.allow(ResourceType.GROUP, group.group_id)
        guarded.allow(ResourceType.TOPIC, group.topics[0])
        config = tmp_path / "client.properties"
        config.write_text(
            f"bootstrap.servers={guarded.sasl}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f"sasl.username={USER}\nsasl.password={PASSWORD}\n"
        )
        done = run("--group", group.group_id, "--config", str(config), "--output", "json")
        assert done.stderr.splitlines() == [ASSUMED]
        assert json.loads(done.stdout)["metrics"]["max_load"] == 30
        assert PASSWORD not in done.stdout + done.stderr
