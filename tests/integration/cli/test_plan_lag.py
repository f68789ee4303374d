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

from kafka_assignors import CooperativeLagAwareAssignor, LagAwareAssignor
from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.broker import development_broker
from kafka_assignors.cli.plan.live_lag import TIMEOUT_MS
from kafka_assignors.plan import TopicPartition
from tests.integration.cli.plan_command import as_planned, plan, run
from tests.integration.conftest import FreshNames
from tests.integration.guarded import PASSWORD, Guarded, login
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


@pytest.mark.long
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
        secret = {"KAFKA_ASSIGNORS_SASL_PLAIN_PASSWORD": PASSWORD}
        words = ("--group", group.group_id, *login(guarded, tmp_path / "client.properties"))
        done = run(*words, "--output", "json", **secret)
        assert done.stderr.splitlines() == [ASSUMED]
        assert json.loads(done.stdout)["metrics"]["max_load"] == 30
        assert PASSWORD not in done.stdout + done.stderr
