"""``cooperative-lag-aware`` with a feed, on real records and consumers, and with faults of the feed."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from kafka import KafkaConsumer
from kafka.admin import ACLOperation, ResourceType

from kafka_assignors import CooperativeLagAwareAssignor, LoadFeed, RebalanceOnSkew
from kafka_assignors.lag.feed import reader as feed_reader
from kafka_assignors.plan import TopicPartition
from tests.integration.cli.plan_command import run
from tests.integration.conftest import FreshNames
from tests.integration.feeding import Feed
from tests.integration.guarded import PASSWORD, Guarded
from tests.integration.lagging import write
from tests.integration.members import Group, Owned, assert_never_two_owners
from tests.support.group.joining import cluster, joined, own, plan_of, raw
from tests.support.logged import ours
from tests.support.waiting import poll_until, until

QUICK = RebalanceOnSkew(threshold=1.2, at_least=10, for_s=0.5, check_s=0.2, cool_down_s=0.5, per_hour=20)
WAIT_S = 60.0


# --- groups of real consumers ----------------------------------------------------------------------------


def sums(owned: Owned, of: Mapping[TopicPartition, float]) -> list[float]:
    return sorted(sum(of[tp] for tp in partitions) for partitions in owned.values())


def test_group_with_even_lag_plans_by_forecasts(fresh: FreshNames) -> None:
    """Forecasts load one member.  The leader rebalances, and its report names the forecasts."""
    with Group(fresh, 6) as group, Feed(group.bootstrap, group.group_id).create() as feed:
        write(group.bootstrap, dict.fromkeys(sorted(group.partitions), 20))
        options = {"load_source": feed.topic, "rebalance_on_skew": QUICK}
        group.join_all(2, CooperativeLagAwareAssignor, auto_offset_reset="earliest", options=options)
        before = group.settled()
        busy = next(iter(before.values()))
        arrivals = {tp: 1000.0 if tp in busy else 0.0 for tp in sorted(group.partitions)}
        feed.publish(arrivals)
        group.wait_until(lambda: sums(group.settled(), arrivals) == [1000, 2000], "the work to be shared")
        facts = [event.facts for member in group.members for event in member.of_kind("rebalance")]
        assert "forecast" in {cause for each in facts for cause in str(each["cause"]).split("; ")}
        assert (facts[-1]["load"], facts[-1]["forecasts"], facts[-1]["max_load"]) == ("lag+forecast", 6, 2060)
        assert_never_two_owners(group.members)


def test_next_leader_reads_the_feed(fresh: FreshNames) -> None:
    """Every member reads the feed, so the leader can be killed."""
    with Group(fresh, 4) as group, Feed(group.bootstrap, group.group_id).create() as feed:
        arrivals = {TopicPartition(group.topics[0], p): n for p, n in enumerate((900.0, 800.0, 10.0, 10.0))}
        feed.publish(arrivals)
        options = {"load_source": LoadFeed(feed.topic)}
        leader, *_ = group.join_all(
            3, CooperativeLagAwareAssignor, auto_offset_reset="earliest", options=options
        )
        group.settled()
        leader.kill()
        assert sums(group.settled(), arrivals) == [810, 910]
        facts = [event.facts for member in group.present() for event in member.of_kind("rebalance")]
        assert facts[-1]["load"] == "lag+forecast"


def test_plan_command_uses_the_feed_of_a_live_group(fresh: FreshNames) -> None:
    """A member without a feed joins and is not affected."""
    with Group(fresh, 4) as group, Feed(group.bootstrap, group.group_id).create() as feed:
        write(group.bootstrap, dict.fromkeys(sorted(group.partitions), 20))
        group.join_all(2, CooperativeLagAwareAssignor, auto_offset_reset="earliest")
        before = group.settled()
        words = ("--group", group.group_id, "--bootstrap", group.bootstrap, "--load-topic", feed.topic)
        empty = run(*words, "--output", "json")
        assert f"load feed {feed.topic}: it has no forecast for group {group.group_id}" in empty.stderr
        busy = next(iter(before.values()))
        feed.publish({tp: 1000.0 if tp in busy else 0.0 for tp in sorted(group.partitions)})
        prediction = json.loads(run(*words, "--output", "json").stdout)
        assert prediction["metrics"]["max_load"] == 1040
        assert {why["reason"].partition(":")[0] for why in prediction["why"]} == {
            "kept",
            "moved for expected load",
        }
        missing = run(*words[:-1], "no-such-topic", "--output", "json")
        assert "there is no such topic" in missing.stderr
        assert json.loads(missing.stdout)["metrics"]["max_load"] == 40
        assert group.settled() == before


def test_closed_consumer_with_a_feed_leaves_no_thread(fresh: FreshNames) -> None:
    topic, group_id = fresh.topic(4), fresh.group()
    before = set(threading.enumerate())
    with Feed(fresh.bootstrap, group_id).create() as feed:
        feed.publish({TopicPartition(topic, p): 1.0 for p in range(4)})
        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=fresh.bootstrap,
            group_id=group_id,
            partition_assignment_strategy=[CooperativeLagAwareAssignor.configured(load_source=feed.topic)],
        )
        assignor = consumer._coordinator._assignors["cooperative-lag-aware"]
        poll_until(
            consumer,
            lambda: (
                assignor._forecasts and assignor._forecasts.source.look([TopicPartition(topic, 3)]).arrivals
            ),
            "the feed",
        )
        assert "kafka-assignors-feed" in {thread.name for thread in threading.enumerate()}
        consumer.close()
    assert set(threading.enumerate()) <= before


# --- one leader, and its log -----------------------------------------------------------------------------


class Leader:
    """An assignor that leads members a and b of topic ``t``, whose lag is 0."""

    def __init__(
        self, caplog: pytest.LogCaptureFixture, config: Mapping[str, Any], group_id: str, feed: object
    ) -> None:
        caplog.set_level(logging.DEBUG)
        self._caplog = caplog
        self._threads = set(threading.enumerate())
        self.reports: list[Any] = []
        self.assignor = CooperativeLagAwareAssignor(
            consumer_config={**config, "group_id": group_id},
            lag_source=lambda partitions: dict.fromkeys(partitions, 0),
            load_source=feed,
            on_plan=self.reports.append,
        )
        self.generation = 0

    def plan(self, owned: Mapping[str, list[int]] | None = None) -> dict[str, list[int]]:
        """Run one round; return the owners of the partitions of ``t``."""
        self.generation += 1
        self.assignor.metadata(["t"])
        members = [
            joined(name, raw(["t"], b"", {"t": owned[name]} if owned else None, self.generation))
            for name in "ab"
        ]
        plan = plan_of(self.assignor.assign(cluster({"t": 4}), members))
        own(self.assignor, plan["a"], self.generation)
        return {name: topics.get("t", []) for name, topics in plan.items()}

    @property
    def loads(self) -> list[int]:
        self.plan()
        return list(self.reports[-1].target.group.lags["t"])

    def logged(self, least: int = logging.WARNING) -> list[str]:
        """Return the messages of our logger."""
        return ours(self._caplog, least)

    def close(self) -> None:
        began = time.monotonic()
        self.assignor.close()
        assert time.monotonic() - began < WAIT_S  # a proxy that stalls does so for ever
        until(lambda: not {t for t in threading.enumerate() if t.name.startswith("kafka")} - self._threads)
        assert PASSWORD not in self._caplog.text


Lead = Callable[..., Leader]


@pytest.fixture
def lead(
    caplog: pytest.LogCaptureFixture, guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lead]:
    """Make leaders with short intervals, and close them at the end."""
    for name, seconds in {
        "_CHECK_S": 0.3,
        "_RESPONSE_S": 2.0,
        "_PAUSE_S": 0.2,
        "_LONGEST_PAUSE_S": 0.4,
    }.items():
        monkeypatch.setattr(feed_reader, name, seconds)
    leaders: list[Leader] = []

    def make(feed: Feed, config: Mapping[str, Any] | None = None, **options: Any) -> Leader:
        there = {"bootstrap_servers": guarded.bootstrap} if config is None else config
        leaders.append(Leader(caplog, there, feed.group_id, LoadFeed(feed.topic, **options)))
        return leaders[-1]

    yield make
    for leader in leaders:
        leader.close()


@pytest.fixture
def feed(guarded: Guarded, names: FreshNames) -> Iterator[Feed]:
    """A feed whose topic does not exist."""
    with Feed(guarded.bootstrap, names.group()) as made:
        yield made


def t(*arrivals: float) -> dict[TopicPartition, float]:
    return {TopicPartition("t", p): records for p, records in enumerate(arrivals)}


def test_newest_forecast_counts_until_a_tombstone(feed: Feed, lead: Lead) -> None:
    """A partition without a forecast counts as the mean of the others."""
    feed.create(3).publish(t(1, 1, 1, 1))
    feed.publish(t(100, 10, 10, 90))
    leader = lead(feed)
    until(lambda: leader.loads == [100, 10, 10, 90])
    assert leader.plan() == {"a": [0, 2], "b": [1, 3]}
    feed.forget(TopicPartition("t", 0))
    until(lambda: leader.loads == [37, 10, 10, 90])
    feed.publish(t(70))
    until(lambda: leader.loads == [70, 10, 10, 90])
    assert not leader.logged()


def test_forecasts_of_an_abandoned_feed_expire(feed: Feed, lead: Lead) -> None:
    """The leader plans by lag alone.  One line names the age of the feed, another its return."""
    feed.create().publish(t(100, 10, 10, 90), age_s=3600)
    leader = lead(feed, max_age_ms=60_000)
    until(lambda: leader.plan() and leader.logged())
    assert leader.loads == [0] * 4
    assert "too few forecasts (0), planning by lag alone" in leader.logged()[0]
    assert "its newest forecast is 3,60" in leader.logged()[0]
    feed.publish(t(100, 10, 10, 90))
    until(lambda: leader.loads == [100, 10, 10, 90])
    assert any("planning by lag and" in line for line in leader.logged(logging.INFO))
    assert len(leader.logged()) == 1


def test_both_rounds_of_a_rebalance_use_the_same_forecasts(feed: Feed, lead: Lead) -> None:
    feed.create().publish(t(100, 10, 10, 90))
    leader = lead(feed)
    until(lambda: leader.loads == [100, 10, 10, 90])
    first = leader.plan({"a": [0, 3], "b": [1, 2]})
    assert sum(map(len, first.values())) < 4
    feed.publish(t(10, 100, 90, 10))
    source = leader.assignor._forecasts.source  # type: ignore[union-attr]
    until(lambda: source.look(list(t(0, 0, 0, 0))).arrivals == pytest.approx(t(10, 100, 90, 10), rel=1e-4))
    second = leader.plan(first)
    assert leader.reports[-1].target == leader.reports[-2].target
    assert sum(map(len, second.values())) == 4
    assert leader.loads == [10, 100, 90, 10]  # the next rebalance knows


def test_missing_feed_is_not_created_but_read_once_it_exists(feed: Feed, lead: Lead) -> None:
    leader = lead(feed)
    until(lambda: leader.plan() and leader.logged())
    until(lambda: len([line for line in leader.logged(logging.DEBUG) if "no such topic" in line]) > 5)
    assert leader.loads == [0] * 4
    assert not feed.exists()
    assert leader.logged() == [f"load feed {feed.topic}: there is no such topic; trying again in 0.2 s"]
    feed.create().publish(t(100, 10, 10, 90))
    until(lambda: leader.loads == [100, 10, 10, 90])
    assert len(leader.logged()) == 1


def test_recreated_feed_is_read_again(feed: Feed, lead: Lead) -> None:
    """It is not created by reading it; the new one is read from its beginning, however long it is."""
    feed.create().publish(t(100, 10, 10, 90))
    leader = lead(feed)
    until(lambda: leader.loads == [100, 10, 10, 90])
    feed.delete()
    until(leader.logged)
    assert leader.logged() == [f"load feed {feed.topic}: there is no such topic; trying again in 0.2 s"]
    assert not feed.exists()
    assert leader.loads == [100, 10, 10, 90]  # they are as good as they were
    feed.create(2)
    for _ in range(5):
        feed.publish(t(10, 100, 90, 10))
    until(lambda: leader.loads == [10, 100, 90, 10])
    assert len(leader.logged()) == 1


def test_new_partitions_of_a_feed_are_read(feed: Feed, lead: Lead) -> None:
    feed.create().publish(t(100, 10, 10, 90))
    leader = lead(feed)
    until(lambda: leader.loads == [100, 10, 10, 90])
    feed.grow(8)
    for partitions in ((20, 30), (1, 2)):
        feed.publish({TopicPartition("t", p): float(records) for p, records in enumerate(partitions)})
    until(lambda: leader.loads == [1, 2, 10, 90])
    assert not leader.logged()


@pytest.mark.parametrize("outage", ["stall", "cut"])
def test_reader_recovers_from_an_unreachable_broker(
    guarded: Guarded, feed: Feed, lead: Lead, outage: Any
) -> None:
    """Known forecasts stay in use; one line logs the outage, one its end."""
    feed.create().publish(t(100, 10, 10, 90))
    leader = lead(feed, {"bootstrap_servers": guarded.proxied, "request_timeout_ms": 2_000})
    until(lambda: leader.loads == [100, 10, 10, 90])
    guarded.proxy.mode = outage
    until(leader.logged)
    assert leader.loads == [100, 10, 10, 90]
    feed.publish(t(10, 100, 90, 10))
    guarded.proxy.mode = "pass"
    until(lambda: leader.loads == [10, 100, 90, 10])
    assert any("reading works again" in line for line in leader.logged(logging.INFO))


def test_close_is_quick_while_no_broker_answers(guarded: Guarded, feed: Feed, lead: Lead) -> None:
    """The fixture checks the time of closing and the remaining threads."""
    guarded.proxy.mode = "stall"
    lead(feed, {"bootstrap_servers": guarded.proxied}).plan()


@pytest.mark.parametrize("may", ["nothing", "describe", "read"])
def test_denied_feed_is_one_warning(guarded: Guarded, feed: Feed, lead: Lead, may: str) -> None:
    """The feed is read as soon as the right is granted, with or without the right to describe it."""
    feed.create().publish(t(100, 10, 10, 90))
    leader = lead(feed, guarded.config())
    if may != "nothing":
        guarded.allow(ResourceType.TOPIC, feed.topic)
    if may != "read":
        until(lambda: leader.plan() and leader.logged())
        assert leader.loads == [0] * 4
        assert leader.logged()[0] == (
            f"load feed {feed.topic}: not authorised to read the topic {feed.topic}; trying again in 0.2 s"
        )
    guarded.allow(ResourceType.TOPIC, feed.topic, ACLOperation.READ)
    until(lambda: leader.loads == [100, 10, 10, 90])
    assert len([line for line in leader.logged() if "authorised" in line]) <= 1


def test_wrong_password_is_one_warning(guarded: Guarded, feed: Feed, lead: Lead) -> None:
    feed.create()
    leader = lead(feed, guarded.config("not-" + PASSWORD[::-1]))
    until(lambda: leader.plan() and leader.logged())
    assert "the cluster denies access" in leader.logged()[0]
    assert PASSWORD[::-1] not in " ".join(leader.logged(logging.DEBUG))
