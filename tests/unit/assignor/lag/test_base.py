"""Strategies that plan by lag: its sources, and plans without it."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import pytest

from kafka_assignors import (
    Assignor,
    ConfigurationError,
    CooperativeLagAwareAssignor,
    LagAwareAssignor,
    PlanReport,
    RebalanceOnSkew,
)
from kafka_assignors.assignor import convert
from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.assignor.lag.skew_watcher import SkewWatcher
from kafka_assignors.assignor.members import MemberReport
from kafka_assignors.plan import NO_GENERATION, TopicPartition
from kafka_assignors.wire import lag_user_data
from kafka_assignors.wire.compact_lag_user_data import LagUserData
from tests.support.group.joining import cluster, joined, own, plan_of, raw
from tests.support.logged import warnings
from tests.support.waiting import until
from tests.unit.conftest import MakeConsumer, joining

KINDS = pytest.mark.parametrize("kind", [LagAwareAssignor, CooperativeLagAwareAssignor])

KIP = {TopicPartition("t", p): lag for p, lag in enumerate((100_000, 60_000, 50_000))}


class LagSource:
    """A ``lag_source`` that records its calls."""

    def __init__(self, lags: Mapping[TopicPartition, int] = KIP) -> None:
        self.answer = dict(lags)
        self.asked: list[set[TopicPartition]] = []
        self.error: Exception | None = None

    def __call__(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        self.asked.append(set(partitions))
        if self.error is not None:
            raise self.error
        return self.answer


def member(
    name: str,
    lags: Mapping[TopicPartition, int] | None = None,
    age_ms: int = 0,
    topics: str = "t",
    capacity: float = 1.0,
) -> Any:
    """A member that reports the lag of its partitions."""
    had = convert.ownership(lags or {})
    data = lag_user_data.encode(LagUserData(had, 1 if had else NO_GENERATION, lags or {}, age_ms, capacity))
    return joined(name, raw(topics.split(), data))


Make = Callable[..., Any]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes assignors, and closes them."""
    made: list[LagAssignor] = []

    def of_kind(kind: type[LagAssignor], **options: Any) -> LagAssignor:
        made.append(kind(**options))
        return made[-1]

    yield of_kind
    for assignor in made:
        assignor.close()


@KINDS
def test_leader_fetches_only_unreported_lag(kind: type[LagAssignor], make: Make) -> None:
    source = LagSource({TopicPartition("t", 2): 50_000})
    assignor = make(kind, lag_source=source)
    reports = [
        member("c0", {TopicPartition("t", 0): 100_000}),
        member("c1", {TopicPartition("t", 1): 60_000}),
    ]
    plan = plan_of(assignor.assign(cluster({"t": 3}), reports))
    assert plan == {"c0": {"t": [0]}, "c1": {"t": [1, 2]}}
    assert source.asked == [{("t", 2)}]


def test_old_report_is_ignored(make: Make) -> None:
    source = LagSource()
    assignor = make(LagAwareAssignor, lag_source=source, lag_max_age_ms=1_000)
    members = [
        member("c0", {TopicPartition("t", 0): 1}, 1_001),
        member("c1", {TopicPartition("t", 1): 2}, 1_000),
    ]
    assignor.assign(cluster({"t": 3}), members)
    assert source.asked == [{("t", 0), ("t", 2)}]


@pytest.mark.parametrize("backwards", [False, True])
def test_newest_report_counts_and_of_equally_old_ones_the_larger(backwards: bool, make: Make) -> None:
    """In any order of members.  p0 has 9 records left, p1 has 8, p2 has 7."""
    a, b, c = (TopicPartition("t", p) for p in range(3))
    members = [
        member("c0", {a: 9, b: 8, c: 100}, 10),
        member("c1", {a: 1, b: 3, c: 0}, 10),
        member("c2", {c: 7}, 5),
    ]
    seen: list[PlanReport] = []
    assignor = make(LagAwareAssignor, lag_source=LagSource({}), on_plan=seen.append)
    assignor.assign(cluster({"t": 3}), members[::-1] if backwards else members)
    assert seen[0].target.group.lags == {"t": [9, 8, 7]}


def test_second_round_plans_with_the_lag_of_the_first(make: Make) -> None:
    """It follows at once; new records must not change the target within one rebalance."""
    source = LagSource()
    seen: list[PlanReport] = []
    assignor = make(LagAwareAssignor, lag_source=source, on_plan=seen.append)
    for lag in (50_000, 0):
        source.answer[TopicPartition("t", 2)] = lag
        assignor.assign(cluster({"t": 3}), [member("c0"), member("c1", {TopicPartition("t", 0): 7}, 3_000)])
    assert [report.target.group.lags["t"] for report in seen] == [[7, 60_000, 50_000]] * 2
    assert len(source.asked) == 1


def test_leaders_own_lag_that_is_too_old_does_not_override_a_report(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``lag_refresh_ms`` may be longer than ``lag_max_age_ms``."""
    seen: list[PlanReport] = []
    assignor = make(LagAwareAssignor, lag_source=LagSource(), on_plan=seen.append, lag_max_age_ms=1)
    assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")])
    keeper, now = assignor._keeper, assignor._keeper._now
    monkeypatch.setattr(keeper, "_now", lambda: now() + 1.0)
    assignor.assign(cluster({"t": 3}), [member("c0"), member("c1", {TopicPartition("t", 0): 7})])
    assert [report.target.group.lags["t"][0] for report in seen] == [100_000, 7]


@KINDS
def test_topics_with_one_subscriber_need_no_lag(kind: type[LagAssignor], make: Make) -> None:
    source = LagSource()
    assignor = make(kind, lag_source=source)
    assignor.assign(cluster({"t": 3, "u": 2}), [member("c0"), member("c1", topics="u")])
    assert source.asked == []


@pytest.mark.parametrize(
    ("kind", "asked", "shared"),
    [
        (LagAwareAssignor, {"t"}, {"c0": [0, 2], "c1": [1]}),
        (CooperativeLagAwareAssignor, {"t", "u"}, {"c0": [2], "c1": [0, 1]}),
    ],
)
def test_topic_with_one_subscriber_counts_in_a_members_total_load(
    kind: type[LagAssignor], asked: set[str], shared: dict[str, list[int]], make: Make
) -> None:
    """c0's own topic is heavy, so c0 gets the lightest shared partitions."""
    lags = {("u", 0): 1_000, ("t", 0): 300, ("t", 1): 300, ("t", 2): 1}
    source = LagSource({TopicPartition(*partition): lag for partition, lag in lags.items()})
    assignor = make(kind, lag_source=source)
    members = [member("c0", topics="t u"), member("c1")]
    plan = plan_of(assignor.assign(cluster({"t": 3, "u": 1}), members))
    assert {topic for topic, _ in source.asked[0]} == asked
    assert {name: topics["t"] for name, topics in plan.items()} == shared


@KINDS
def test_undecodable_user_data_costs_one_warning(
    kind: type[LagAssignor], caplog: pytest.LogCaptureFixture, make: Make
) -> None:
    assignor = make(kind, lag_source=LagSource())
    broken = joined("c0", raw(["t"], b"\x00\x00garbage"))
    nothing = joined("c1", raw(["t"], None))
    plan = plan_of(assignor.assign(cluster({"t": 3}), [broken, nothing]))
    assert plan == {"c0": {"t": [0]}, "c1": {"t": [1, 2]}}
    assert len(warnings(caplog)) == 1


@KINDS
def test_group_without_lag_is_planned_by_count_with_one_warning(
    kind: type[LagAssignor], caplog: pytest.LogCaptureFixture, make: Make
) -> None:
    source = LagSource()
    source.error = OSError("no broker")
    assignor = make(kind, lag_source=source)
    for _ in range(3):
        plan = plan_of(assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")]))
        assert sorted(len(topics["t"]) for topics in plan.values()) == [1, 2]
    assert warnings(caplog) == [
        f"{kind.name}: lag unknown for 3 of 3 partitions (OSError: no broker): "
        "each counts as the mean lag of its topic, or as 0 if its topic has no known lag"
    ]
    with caplog.at_level(logging.INFO, "kafka_assignors"):
        assignor.assign(cluster({"t": 3}), [member("c0")])  # needs no lag
    assert "known again" not in caplog.text
    source.error = None
    with caplog.at_level(logging.INFO, "kafka_assignors"):
        assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")])
    assert f"{kind.name}: the lag of all partitions is known again" in caplog.messages
    source.error, source.answer = None, {}
    assignor.assign(cluster({"t": 4}), [member("c0"), member("c1")])
    assert len(warnings(caplog)) == 2


@KINDS
def test_leader_waits_for_a_hanging_source_until_the_timeout(
    kind: type[LagAssignor], caplog: pytest.LogCaptureFixture, make: Make
) -> None:
    go_on = threading.Event()

    def hang(partitions: object) -> dict[TopicPartition, int]:
        go_on.wait(60)
        return {}

    assignor = make(kind, lag_source=hang, lag_timeout_ms=50)
    began = time.monotonic()
    plan = plan_of(assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")]))
    assert time.monotonic() - began < 30  # and not the 60 it would hang
    assert sum(len(topics["t"]) for topics in plan.values()) == 3
    assert "no answer within 0.0" in caplog.text
    go_on.set()


def test_leader_waits_for_a_third_of_its_session_at_most(consumer: MakeConsumer) -> None:
    """It sends no heartbeat while it waits."""
    go_on = threading.Event()

    def hang(partitions: object) -> dict[TopicPartition, int]:
        go_on.wait(60)
        return {}

    made = consumer(LagAwareAssignor.configured(lag_source=hang, lag_timeout_ms=50_000))
    made._coordinator.config["session_timeout_ms"] = 300
    made.subscribe(["t"])
    made._coordinator.group_protocols()
    began = time.monotonic()
    made._coordinator._assignors["lag-aware"].assign(cluster({"t": 3}), [member("c0"), member("c1")])
    assert time.monotonic() - began < 30  # and not 50
    go_on.set()


@KINDS
def test_assignor_without_a_consumer_plans_without_lag(
    kind: type[LagAssignor], caplog: pytest.LogCaptureFixture
) -> None:
    assignor = kind()
    plan = plan_of(assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")]))
    assert sum(len(topics["t"]) for topics in plan.values()) == 3
    assert not warnings(caplog)


def reported(assignor: LagAssignor) -> MemberReport:
    """Own partitions 0 and 2 until the assignor has measured their lag; return its report."""
    reports: list[MemberReport] = []

    def has_lag() -> bool:
        own(assignor, {"t": [0, 2]}, 5)
        reports.append(assignor.decode_user_data(bytes(assignor.metadata(["t"]).user_data)))
        return bool(reports[-1].lags)

    until(has_lag, "lag")
    return reports[-1]


@KINDS
def test_member_reports_the_lag_of_its_partitions(kind: type[LagAssignor], make: Make) -> None:
    source = LagSource()
    assignor = make(kind, lag_source=source)
    assert assignor.decode_user_data(bytes(assignor.metadata(["t"]).user_data)).lags == {}
    report = reported(assignor)
    assert report.lags == {TopicPartition("t", 0): 100_000, TopicPartition("t", 2): 50_000}
    assert 0 <= report.lag_age_ms < 20_000
    assert source.asked[0] == {("t", 0), ("t", 2)}


def test_strategy_that_the_group_does_not_run_reports_fresh_lag(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another strategy of the list gets the assignments, until a member joins that lists this one alone."""
    source, partition = LagSource(), TopicPartition("t", 0)
    assignor = make(LagAwareAssignor, lag_source=source, lag_refresh_ms=10)
    reported(assignor)
    last = [5]
    monkeypatch.setattr(assignor, "_last_assignment", lambda: ({"t": [0]}, last[0]))
    for last[0] in (6, 7):
        source.answer[partition] = last[0]
        until(lambda: assignor._keeper.report()[0][partition] == last[0])
        report = assignor.decode_user_data(bytes(assignor.metadata(["t"]).user_data))
        assert report.lags == {partition: last[0]}


# --- in a consumer ------------------------------------------------------------------------------------------


@KINDS
def test_no_thread_survives_the_consumer(kind: type[LagAssignor], consumer: MakeConsumer) -> None:
    """A fetch is under way at close, because no broker answers."""
    before = set(threading.enumerate())
    made = consumer(kind)
    assignor = joining(made)
    own(assignor, {"t": [0]}, 5)
    assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")])
    names = {thread.name for thread in set(threading.enumerate()) - before}
    assert {"kafka-assignors-lag", "kafka-assignors-lag-leader"} <= names
    made.close()
    left = set(threading.enumerate()) - before
    assert not [thread.name for thread in left if thread.name.startswith("kafka-assignors")]
    for thread in left:  # kafka-python's own ends a moment later on a busy machine
        thread.join(10.0)
    assert set(threading.enumerate()) <= before


def test_invalid_fetch_configuration_does_not_fail_the_rebalance(
    consumer: MakeConsumer, caplog: pytest.LogCaptureFixture
) -> None:
    """The consumer accepts settings that the fetcher refuses."""
    made = consumer(LagAwareAssignor)
    made._manager.config["security_protocol"] = "NONE"
    assignor = joining(made)
    plan = plan_of(assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")]))
    assert sum(len(topics["t"]) for topics in plan.values()) == 3
    own(assignor, {"t": [0]}, 5)
    assert [("security_protocol" in line) for line in warnings(caplog)] == [True]


# --- options ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("lag_timeout_ms", [0, float("inf"), "2s", True]),
        ("lag_refresh_ms", [-1]),
        ("lag_max_age_ms", [0]),
        ("lag_source", [{}]),
        ("rebalance_on_skew", [1.5]),
        ("consumer_config", [[], {"security_protocol": "NONE"}]),
        ("group_record_bytes", [1_023, 1e6, True, None]),
        ("max_partition_skew", [0, 1.0, True]),
        ("min_improvement", [1, -0.1, "10 %"]),
        ("load_source", ["", "no spaces", "..", "x" * 250, 5, True, ["feed"], {}]),
        ("load_max_age_ms", [0, -1, float("inf"), float("nan"), "5s", True, None]),
        ("load_horizon_ms", [0, "soon"]),
    ],
)
def test_wrong_option_is_refused_by_name(name: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(ConfigurationError, match=name) as refused:
            CooperativeLagAwareAssignor.configured(**{name: value})
        assert refused.value.option == name


@pytest.mark.parametrize("value", [True, False, RebalanceOnSkew(threshold=3)])
def test_rebalance_on_skew_takes_a_bool_or_a_policy(value: Any) -> None:
    CooperativeLagAwareAssignor.configured(
        rebalance_on_skew=value, max_partition_skew=None, min_improvement=0
    )


def test_skew_watcher_uses_the_strategys_min_improvement(make: Make) -> None:
    """It requests no rebalance that the plan would ignore."""
    assignor = make(
        CooperativeLagAwareAssignor, lag_source=LagSource(), min_improvement=0.25, rebalance_on_skew=True
    )
    own(assignor, {"t": [0]}, 5)
    assert assignor._watcher is not None
    assert assignor._watcher._watch._worth_ratio == 0.75


def test_repr_hides_secrets() -> None:
    config = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "hunter2",
    }
    assignor = LagAwareAssignor(consumer_config=config)
    assert "hunter2" not in repr(assignor.options)
    assert "hunter2" not in repr(vars(LagAwareAssignor.configured(consumer_config=config)))
    for name in ("lag_source", "rebalance_on_skew", "on_plan", "clock"):
        with pytest.raises(ConfigurationError) as refused:
            LagAwareAssignor.configured(**{name: config})
        assert "hunter2" not in str(refused.value)
    with pytest.raises(ConfigurationError) as refused:
        LagAwareAssignor(consumer_config={**config, "sasl_mechanism": "hunter3", "bootstrap_servers": ":x:"})
    assert "hunter2" not in str(refused.value)


def test_instance_of_a_closed_consumer_plans_without_lag_and_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assignor = CooperativeLagAwareAssignor(lag_source=LagSource(KIP))
    assignor.close()
    assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")])
    assert "belonged to a consumer that is closed: pass the class" in caplog.text


def test_close_is_allowed_twice_and_before_use() -> None:
    assignor = LagAwareAssignor(lag_source=LagSource())
    assignor.close()
    assignor.close()
    own(assignor, {"t": [0]}, 5)
    assert isinstance(assignor, Assignor)


@pytest.mark.parametrize("options", [{}, {"lag_source": LagSource()}], ids=["asks the cluster", "lag_source"])
def test_unknown_kafka_python_gets_no_threads(
    options: dict[str, Any],
    consumer: MakeConsumer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No call would end them; partitions are planned by count, with one warning."""
    before = set(threading.enumerate())
    made = consumer(LagAwareAssignor.configured(**options))
    assignor = joining(made)
    monkeypatch.setattr(assignor._access, "is_unknown_version", lambda: True)
    for _ in range(2):
        plan = plan_of(assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")]))
        assert sum(len(topics["t"]) for topics in plan.values()) == 3
        own(assignor, {"t": [0]}, 5)
    assert not [t for t in set(threading.enumerate()) - before if t.name.startswith("kafka-assignors")]
    assert len(warnings(caplog)) == 1
    assert "this kafka-python version is unknown" in caplog.text


@pytest.mark.parametrize("is_sent", [True, False])
def test_skew_watcher_follows_only_a_plan_that_was_sent(
    is_sent: bool, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the plan cannot be encoded, the members get ranges."""
    followed: list[object] = []
    monkeypatch.setattr(SkewWatcher, "lead", lambda *plan: followed.append(plan))
    assignor = make(CooperativeLagAwareAssignor, lag_source=LagSource(), rebalance_on_skew=True)

    def broken(*_: object) -> Any:
        raise RuntimeError("a bug")

    if not is_sent:
        monkeypatch.setattr(convert, "encode_assignment", broken)
    given = assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")])
    own(assignor, plan_of(given)["c0"], 5)
    assert bool(followed) == is_sent


# --- valid reports, and the skew watcher --------------------------------------------------------------------


def liar(topic: str, lies: Mapping[Any, int], owned: Mapping[str, list[int]] | None = None) -> Any:
    """A member that subscribes to one topic, and reports the lag of partitions that it does not own."""
    data = lag_user_data.encode(LagUserData(owned or {}, 1 if owned else NO_GENERATION, lies, 0))
    return joined("z", raw([topic], data))


UNKNOWN = {TopicPartition("t", 3): 5, TopicPartition("gone", 0): 5, TopicPartition("t", 2**31 - 1): 5}
HUGE = {TopicPartition("t", p): 2**40 for p in range(3)}


@pytest.mark.parametrize(
    ("kind", "member_z", "lag_of_2", "ignored"),
    [
        (LagAwareAssignor, liar("t", UNKNOWN), 50_000, 0),
        (LagAwareAssignor, liar("u", HUGE), 50_000, 3),
        (CooperativeLagAwareAssignor, liar("u", HUGE), 50_000, 3),
        (CooperativeLagAwareAssignor, liar("t", HUGE, {"t": [2]}), 2**40, 2),
    ],
    ids=["unknown", "unsubscribed", "unsubscribed, cooperative", "unowned, cooperative"],
)
def test_lag_of_partitions_that_are_not_a_members_is_ignored(
    kind: type[LagAssignor],
    member_z: Any,
    *,
    lag_of_2: int,
    ignored: int,
    caplog: pytest.LogCaptureFixture,
    make: Make,
) -> None:
    """A lie would move the partitions of others.  Members of ``lag-aware`` send no claims."""
    source, seen = LagSource({**KIP, TopicPartition("u", 0): 1}), list[PlanReport]()
    assignor = make(kind, lag_source=source, on_plan=seen.append)
    assignor.assign(cluster({"t": 3, "u": 1}), [member("c0"), member("c1"), member_z])
    assert list(seen[0].target.group.lags["t"]) == [100_000, 60_000, lag_of_2]
    complaint = (
        f"member z reports the lag of {ignored} partition{'s' * (ignored != 1)} that it does not own or read"
    )
    assert (complaint in caplog.text) == bool(ignored)


@KINDS
def test_faster_member_gets_the_heaviest_partition(kind: type[LagAssignor], make: Make) -> None:
    """From the option of each member to the leader's plan; counts still come first."""
    data = bytes(make(kind, capacity=2).metadata(["t"]).user_data)
    assert lag_user_data.decode(data).capacity == 2.0
    lags = {TopicPartition("t", p): lag for p, lag in enumerate((90, 80, 70, 60))}
    members = [member("c0"), joined("c1", raw(["t"], data)), member("c2")]
    plan = plan_of(make(kind, lag_source=LagSource(lags)).assign(cluster({"t": 4}), members))
    assert plan == {"c0": {"t": [1]}, "c1": {"t": [0, 3]}, "c2": {"t": [2]}}


def test_all_partitions_follow_capacity_without_a_limit_of_counts(make: Make) -> None:
    lags = {TopicPartition("t", p): 10 for p in range(7)}
    assignor = make(CooperativeLagAwareAssignor, lag_source=LagSource(lags), max_partition_skew=None)
    members = [member("c0"), member("c1", capacity=2), member("c2", capacity=4)]
    plan = plan_of(assignor.assign(cluster({"t": 7}), members))
    assert [len(plan[name]["t"]) for name in ("c0", "c1", "c2")] == [1, 2, 4]


@pytest.mark.parametrize("units", [0, 2**20 + 1, 10**15, "nan", "-1024"])
@KINDS
def test_invalid_capacity_counts_as_1_with_one_warning(
    kind: type[LagAssignor], units: object, caplog: pytest.LogCaptureFixture, make: Make
) -> None:
    data = lag_user_data.encode(LagUserData({}, NO_GENERATION, {}, 0, 2.0))
    name = f":capacity={units}".encode()
    start = data.index(b"\0\x0e:capacity=2048")
    data = data[:start] + len(name).to_bytes(2, "big") + name + data[start + 16 :]
    seen = list[PlanReport]()
    assignor = make(kind, lag_source=LagSource(), on_plan=seen.append)
    plan = plan_of(assignor.assign(cluster({"t": 3}), [member("c0"), joined("c1", raw(["t"], data))]))
    assert plan == {"c0": {"t": [0]}, "c1": {"t": [1, 2]}}
    assert [m.capacity for m in seen[0].target.group.members] == [1.0, 1.0]
    (warning,) = warnings(caplog)
    assert "member c1 reports a capacity of" in warning


def test_leaders_own_reading_counts_before_reports(make: Make) -> None:
    seen = list[PlanReport]()
    assignor = make(LagAwareAssignor, lag_source=LagSource(), on_plan=seen.append)
    assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")])
    assignor.assign(cluster({"t": 3}), [member("c0", {TopicPartition("t", 0): 7}), member("c1")])
    assert [list(report.target.group.lags["t"]) for report in seen] == [[100_000, 60_000, 50_000]] * 2


def test_collector_runs_while_the_leader_waits_for_lag(make: Make) -> None:
    """It is the whole process's, and the wait can take seconds."""
    on: list[bool] = []

    def source(partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        on.append(gc.isenabled())
        return dict.fromkeys(partitions, 0)

    assignor = make(LagAwareAssignor, lag_source=source)
    assignor.assign(cluster({"t": 3}), [member("c0"), member("c1")])
    assert on == [True]


@KINDS
def test_retried_join_sends_the_same_bytes(kind: type[LagAssignor], make: Make) -> None:
    """Lag and its age change meanwhile, but other bytes make a broker start a rebalance."""
    source = LagSource()
    assignor = make(
        kind, lag_source=lambda tps: dict.fromkeys(source(tps), len(source.asked)), lag_refresh_ms=10
    )
    reported(assignor)
    first, fetches = assignor.metadata(["t"]).encode(), len(source.asked)
    until(lambda: len(source.asked) > fetches + 5, "more fetches")
    assert assignor.metadata(["t"]).encode() == first
    own(assignor, {"t": [0, 2]}, 5)
    assert assignor.metadata(["t"]).encode() != first, "the next join"


def test_lag_aware_sends_no_history() -> None:
    """Its plan ignores ownership, and all user data of a group must fit into one message."""
    assignor = LagAwareAssignor()
    own(assignor, {"t": list(range(1000))}, 5)
    assert len(bytes(assignor.metadata(["t"]).user_data)) < 50


@pytest.mark.parametrize(
    ("holds", "interrupted", "watches"),
    [([0, 1], False, True), ([0, 1, 2, 3], False, False), (None, False, False), ([0, 1], True, False)],
    ids=["leads", "not settled", "follows", "its plan never took effect"],
)
def test_leader_of_a_settled_group_watches_its_lag(
    holds: list[int] | None, interrupted: bool, watches: bool, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched: list[object] = []
    monkeypatch.setattr(SkewWatcher, "lead", lambda _self, given, _still: watched.append(given))
    assignor = make(CooperativeLagAwareAssignor, lag_source=LagSource({}), rebalance_on_skew=True)
    if holds is not None:
        members = [joined("a", raw(["t"], b"", {"t": holds}, 1)), joined("b", raw(["t"], b""))]
        assignor.assign(cluster({"t": 4}), members)
    if interrupted:
        assignor.metadata(["t"])
    own(assignor, {"t": [0, 1]}, 2)
    assert bool(watched) == watches
