"""``load_source``: what is expected to come, in the plans of ``cooperative-lag-aware``."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import Any

import pytest

from kafka_assignors import (
    ConfigurationError,
    CooperativeLagAwareAssignor,
    LagAwareAssignor,
    LoadFeed,
    OptionError,
    PlanReport,
    RebalanceOnSkew,
)
from kafka_assignors.assignor.lag.forecasts import LoadForecasts
from kafka_assignors.assignor.lag.options import CooperativeLagOptions
from kafka_assignors.lag.feed.reader import FeedReader
from kafka_assignors.lag.feed.sources import PolledLoad
from kafka_assignors.plan import Group, Reason, TopicPartition
from tests.support.feed_messages import Feed, forecast, record
from tests.support.joining import cluster, joined, own, plan_of, raw
from tests.unit.conftest import MakeConsumer

TOPICS = {"t": 4}
ALL = [TopicPartition("t", p) for p in range(4)]
HEAVY = {ALL[0]: 100.0, ALL[1]: 10.0, ALL[2]: 10.0, ALL[3]: 90.0}


def no_lag(partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    return dict.fromkeys(partitions, 0)


class Forecasts:
    """A ``load_source`` that notes what it is asked."""

    def __init__(self, told: Mapping[TopicPartition, Any] = HEAVY) -> None:
        self.answer = dict(told)
        self.error: Exception | None = None
        self.asked: list[set[TopicPartition]] = []

    def __call__(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, float]:
        self.asked.append(set(partitions))
        if self.error is not None:
            raise self.error
        return self.answer


class World:
    """A leader of two members, and what it planned."""

    def __init__(self, load_source: object, **options: Any) -> None:
        self.reports: list[PlanReport] = []
        self.assignor = CooperativeLagAwareAssignor(
            **{"lag_source": no_lag, "on_plan": self.reports.append, "load_source": load_source, **options}
        )
        self.generation = 0
        self.hangs = False

    def rebalance(
        self, owned: Mapping[str, Collection[int]] | None = None, topics: Mapping[str, int] = TOPICS
    ) -> dict[str, list[int]]:
        """One round of members a and b that hold these partitions of ``t``."""
        self.generation += 1
        held = {name: {"t": sorted(numbers)} for name, numbers in (owned or {}).items()}
        members = [joined(name, raw(["t"], b"", held.get(name), self.generation)) for name in "ab"]
        self.assignor.metadata(["t"])
        self.let_it_say()
        plan = plan_of(self.assignor.assign(cluster(topics), members))
        own(self.assignor, plan["a"], self.generation)
        return {name: sorted(topics.get("t", [])) for name, topics in plan.items()}

    def let_it_say(self) -> None:
        """A function is asked in the background; wait for what it says now, unless it is known to hang."""
        source = self.assignor._forecasts and self.assignor._forecasts.source
        if isinstance(source, PolledLoad) and not self.hangs and not self.assignor._second_round.is_settling:
            source._wanted = frozenset()
            source.look(ALL)
            source._line.submit(lambda: None).result(60)

    @property
    def loads(self) -> list[int]:
        return list(self.reports[-1].target.group.lags["t"])


@pytest.fixture
def made() -> Any:
    """Makes worlds, and closes them."""
    worlds: list[World] = []

    def make(*args: Any, **options: Any) -> World:
        worlds.append(World(*args, **options))
        return worlds[-1]

    yield make
    for world in worlds:
        world.assignor.close()


Make = Callable[..., World]


def ours(caplog: pytest.LogCaptureFixture, least: int = logging.INFO) -> list[str]:
    said = [r.getMessage() for r in caplog.records if r.name == "kafka_assignors" and r.levelno >= least]
    return [line for line in said if not line.startswith("rebalance ")]


@pytest.fixture(autouse=True)
def _debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "kafka_assignors")


# --- the plan -------------------------------------------------------------------------------------------


def test_the_plan_is_for_lag_and_what_is_expected(made: Make) -> None:
    """By lag alone nothing would be said against the heavy two together."""
    world = made(Forecasts())
    assert world.rebalance() == {"a": [0, 2], "b": [1, 3]}
    assert world.loads == [100, 10, 10, 90]
    assert world.reports[0].metrics.max_load == 110
    lags = {ALL[1]: 95, ALL[2]: 1}
    world = made(Forecasts(), lag_source=lambda partitions: {at: lags.get(at, 0) for at in partitions})
    assert sorted(world.rebalance().values()) == [[0, 3], [1, 2]]
    assert world.loads == [100, 105, 11, 90]


def test_the_report_and_the_log_say_that_forecasts_are_in_it(
    made: Make, caplog: pytest.LogCaptureFixture
) -> None:
    source = Forecasts({at: HEAVY[at] for at in ALL[:3]})
    world = made(source)
    world.rebalance()
    assert world.reports[0].forecasts == 3
    (facts,) = [r.__dict__["rebalance"] for r in caplog.records if hasattr(r, "rebalance")]
    assert (facts["load"], facts["forecasts"]) == ("lag+forecast", 3)
    assert "load=lag+forecast forecasts=3" in caplog.text
    source.answer = {}
    world.rebalance({"a": [0, 1], "b": [2, 3]})
    assert world.reports[1].forecasts == 0
    assert "load=lag forecasts=0" in caplog.text


def test_a_move_is_for_expected_load_only_if_forecasts_counted(made: Make) -> None:
    source = Forecasts()
    world = made(source)
    world.rebalance({"a": [0, 3], "b": [1, 2]})
    assert {why.reason for why in world.reports[0].why()} == {Reason.KEPT, Reason.EXPECTED_LOAD}
    lagging = {at: round(records) for at, records in HEAVY.items()}
    world = made(Forecasts({}), lag_source=lambda partitions: {at: lagging[at] for at in partitions})
    world.rebalance({"a": [0, 3], "b": [1, 2]})
    assert {why.reason for why in world.reports[0].why()} == {Reason.KEPT, Reason.LOAD}


def test_without_load_source_nothing_is_said_of_forecasts(caplog: pytest.LogCaptureFixture) -> None:
    for kind in (CooperativeLagAwareAssignor, LagAwareAssignor):
        seen: list[PlanReport] = []
        assignor = kind(lag_source=no_lag, on_plan=seen.append)
        assignor.assign(cluster(TOPICS), [joined(name, raw(["t"], b"")) for name in "ab"])
        assert seen[0].forecasts is None
        assignor.close()
    assert "forecast" not in caplog.text
    assert " load=" not in caplog.text


def test_small_differences_are_calm_with_forecasts_too(made: Make) -> None:
    """``min_improvement`` is of the whole load."""
    source = Forecasts({ALL[0]: 52.0, ALL[1]: 53.0, ALL[2]: 50.0, ALL[3]: 50.0})
    world = made(source)
    assert world.rebalance({"a": [0, 1], "b": [2, 3]}) == {"a": [0, 1], "b": [2, 3]}


def test_where_no_partition_has_a_choice_of_members_nothing_is_asked(
    made: Make, caplog: pytest.LogCaptureFixture
) -> None:
    source = Forecasts()
    world = made(source)
    members = [joined("a", raw(["t"], b"")), joined("b", raw(["u"], b""))]
    world.assignor.assign(cluster({"t": 2, "u": 2}), members)
    assert source.asked == []
    assert ours(caplog) == []


# --- rounds ---------------------------------------------------------------------------------------------


def test_the_second_round_plans_from_what_the_first_one_did(made: Make) -> None:
    """Though the forecast is another one by then, or is gone."""
    for later in ({at: 100.0 - records for at, records in HEAVY.items()}, {}):
        source = Forecasts()
        world = made(source)
        first = world.rebalance({"a": [0, 3], "b": [1, 2]})
        moved = set(range(4)) - {p for numbers in first.values() for p in numbers}
        assert moved  # handed over in the next round
        source.answer = dict(later)
        second = world.rebalance(first)
        assert set(range(4)) == {p for numbers in second.values() for p in numbers}
        assert all(set(first[name]) <= set(second[name]) for name in "ab")
        assert world.reports[0].target == world.reports[1].target
        assert world.loads == [100, 10, 10, 90]
        assert len(source.asked) == 1
        assert world.reports[1].forecasts == 4
        world.rebalance(second)
        assert world.loads == [round(later.get(at, 0)) for at in ALL]


def test_a_rebalance_that_began_by_lag_alone_ends_so(made: Make) -> None:
    """The feed was read a moment too late."""
    lags = {at: round(records) for at, records in HEAVY.items()}
    source = Forecasts({})
    world = made(source, lag_source=lambda partitions: {at: lags[at] for at in partitions})
    first = world.rebalance({"a": [0, 3], "b": [1, 2]})
    source.answer = {at: 1000.0 * (at.partition + 1) for at in ALL}
    world.rebalance(first)
    assert [report.forecasts for report in world.reports] == [0, 0]
    assert world.reports[0].target == world.reports[1].target


# --- when there is none ---------------------------------------------------------------------------------


def test_too_few_forecasts_are_none_and_it_is_said_when_that_changes(
    made: Make, caplog: pytest.LogCaptureFixture
) -> None:
    source = Forecasts({ALL[0]: 5.0})
    world = made(source)
    for _ in range(3):
        world.rebalance({"a": [0, 3], "b": [1, 2]})
        assert world.loads == [0] * 4
    assert ours(caplog) == [
        "cooperative-lag-aware: too few forecasts (1), lag alone decides: "
        "load_source returned nothing for t-1"
    ]
    source.answer = dict(HEAVY)
    for _ in range(2):
        world.rebalance({"a": [0, 1], "b": [2, 3]})
    assert ours(caplog)[1:] == ["cooperative-lag-aware: planning by lag and 4 forecasts"]
    source.answer = {}
    world.rebalance({"a": [0, 1], "b": [2, 3]})
    assert len(ours(caplog, logging.WARNING)) == 2


def test_what_passes_by_itself_is_no_warning_and_what_comes_after_it_is_one(
    made: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A feed that is still being read, then turns out to be old."""
    reader = Feed([record(p, forecast(1, age_s=100)) for p in range(4)]).reader()
    monkeypatch.setattr(reader, "begin", lambda: None)
    monkeypatch.setattr(LoadFeed, "reader", lambda *_given: reader)
    world = made("feed")
    world.rebalance()
    world.rebalance()
    assert (len(ours(caplog)), ours(caplog, logging.WARNING)) == (1, [])
    for _ in range(2):
        reader.step()
        world.rebalance()
        world.rebalance()
    assert ours(caplog)[1:] == [
        "cooperative-lag-aware: too few forecasts (0), lag alone decides: "
        "load feed feed: its newest forecast is 100 s old"
    ]


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (OSError("down"), "OSError: down"),
        (-1.0, "load_source returned -1.0 for t-0"),
        (float("nan"), "load_source returned nan for t-0"),
        (float("inf"), "load_source returned inf for t-0"),
        ("5", "load_source returned '5' for t-0"),
    ],
    ids=str,
)
def test_what_a_function_must_not_say_counts_for_nothing(
    what: object, why: str, made: Make, caplog: pytest.LogCaptureFixture
) -> None:
    source = Forecasts(dict.fromkeys(ALL, what))
    source.error = what if isinstance(what, Exception) else None
    world = made(source)
    world.rebalance()
    assert world.loads == [0] * 4
    assert ours(caplog) == [f"cooperative-lag-aware: too few forecasts (0), lag alone decides: {why}"]


def test_a_function_that_hangs_holds_up_nothing(made: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Neither a plan, nor lag, nor who looks on; it would hang for ever."""
    go_on = threading.Event()

    def hang(partitions: object) -> dict[TopicPartition, float]:
        go_on.wait()
        return {}

    world = made(hang, lag_source=lambda partitions: dict.fromkeys(partitions, 7))
    world.hangs = True
    try:
        for _ in range(2):
            world.rebalance()
            assert world.loads == [7] * 4
        assert world.assignor._forecasts is not None
        assert world.assignor.with_forecasts(world.reports[-1].target.group).lag.tolist() == [7] * 4
        assert ours(caplog) == [
            "cooperative-lag-aware: too few forecasts (0), lag alone decides: "
            "load_source has not answered yet"
        ]
    finally:
        go_on.set()


def test_what_a_function_says_late_counts_from_then_on(made: Make) -> None:
    go_on = threading.Event()

    def late(partitions: object) -> dict[TopicPartition, float]:
        go_on.wait()
        return HEAVY

    world = made(late)
    world.hangs = True
    world.rebalance()
    assert world.loads == [0] * 4
    go_on.set()
    assert world.assignor._forecasts is not None
    source = world.assignor._forecasts.source
    _wait_until(lambda: source.look(ALL).arrivals)
    world.rebalance()
    assert world.loads == [100, 10, 10, 90]


def test_a_broken_source_costs_the_forecasts_and_not_the_lag(
    made: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: object, *args: object, **more: object) -> Group:
        raise ZeroDivisionError

    monkeypatch.setattr(LoadForecasts, "in_plan", broken)
    world = made(Forecasts(), lag_source=lambda partitions: dict.fromkeys(partitions, 7))
    world.rebalance()
    assert world.loads == [7] * 4
    assert "taking forecasts into account failed" in caplog.text


# --- the watch over skew --------------------------------------------------------------------------------


def test_the_watch_sees_the_loads_a_plan_would(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lag is even, or there is none; what is expected is not."""
    asked: list[bool] = []
    policy = RebalanceOnSkew(threshold=1.2, at_least=1, for_s=0, check_s=0.01, cool_down_s=0, jitter=0)
    source = Forecasts({})
    world = made(source, rebalance_on_skew=policy, lag_refresh_ms=50)
    access = world.assignor._access
    monkeypatch.setattr(type(access), "request_rejoin_threadsafe", lambda _side: asked.append(True))
    world.rebalance({"a": [0, 3], "b": [1, 2]})
    looks = len(source.asked)
    _wait_until(lambda: len(source.asked) > looks + 3)
    assert not asked
    source.answer = dict(HEAVY)
    _wait_until(lambda: asked)


def _wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --- a feed ---------------------------------------------------------------------------------------------


def test_a_feed_is_begun_at_the_first_join_and_looked_up_by_the_leader(
    made: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Before it was read the plan goes by lag, which is nobody's fault."""
    feed = Feed([record(p, forecast(HEAVY[ALL[p]])) for p in range(4)])
    feed.hangs = True
    asked: list[tuple[str, float]] = []

    def reader(one: LoadFeed, config: Mapping[str, Any], max_age_ms: float) -> FeedReader:
        asked.append((one.topic, max_age_ms))
        return feed.reader()

    monkeypatch.setattr(LoadFeed, "reader", reader)
    world = made("feed", load_max_age_ms=5_000)
    members = [joined(name, raw(["t"], b"")) for name in "ab"]
    world.assignor.assign(cluster(TOPICS), members)
    assert world.loads == [0] * 4
    assert [r.levelno for r in caplog.records if "too few forecasts" in r.getMessage()] == [logging.INFO]
    assert feed.consumers == 0
    world.assignor.metadata(["t"])
    assert feed.polling.wait(10)
    world.rebalance()
    assert world.loads == [100, 10, 10, 90]
    assert asked == [("feed", 5_000)]
    world.assignor.close()
    assert feed.is_open == 0
    world.assignor.metadata(["t"])
    assert (feed.consumers, asked) == (1, [("feed", 5_000)])


def test_in_a_consumer_its_own_configuration_and_group_are_used(consumer: MakeConsumer) -> None:
    """Nobody answers at its address; nothing waits for that, and nothing survives the consumer."""
    before = set(threading.enumerate())
    made = consumer(CooperativeLagAwareAssignor.configured(load_source="feed"))
    made.subscribe(["t"])
    made._coordinator.group_protocols()
    assignor = made._coordinator._assignors["cooperative-lag-aware"]
    names = {thread.name for thread in set(threading.enumerate()) - before}
    assert "kafka-assignors-feed" in names
    assert assignor._forecasts.source._group_id == "g"
    made.close()
    assert set(threading.enumerate()) <= before


def test_the_feed_may_be_in_another_cluster() -> None:
    """What it does not say is the consumer's; the group is the consumer's in any case."""
    there = {"bootstrap_servers": "there:1", "group_id": "other"}
    feed = LoadFeed(consumer_config=there)
    here = {"bootstrap_servers": "here:1", "client_id": "c", "group_id": "g"}
    reader = feed.reader(here, 5)
    assert reader._group_id == "g"
    assert feed.reader({}, 5)._group_id == "other"
    assert (reader._max_age_ms, LoadFeed(max_age_ms=7).reader(here, 5)._max_age_ms) == (5, 7)


def test_without_a_group_there_are_no_forecasts_which_is_said(
    made: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """An assignor by hand; in a consumer there always is one."""
    world = made("feed")
    for _ in range(2):
        world.rebalance()
    assert [line for line in ours(caplog, logging.WARNING) if "group_id" in line] == [
        "cooperative-lag-aware: no forecasts, lag alone decides: "
        "option 'group_id': missing: lag is a group's, give group_id"
    ]
    assert world.reports[0].forecasts == 0


def test_in_an_unknown_kafka_python_there_is_no_thread(
    consumer: MakeConsumer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody would tell when to end it."""
    before = set(threading.enumerate())
    made = consumer(
        CooperativeLagAwareAssignor.configured(load_source="feed", consumer_config={"group_id": "g"})
    )
    made.subscribe(["t"])
    assignor = made._coordinator._assignors["cooperative-lag-aware"]
    monkeypatch.setattr(assignor._access, "is_unknown_version", lambda: True)
    for _ in range(2):
        made._coordinator.group_protocols()
    assert not [t for t in set(threading.enumerate()) - before if t.name.startswith("kafka-assignors")]
    assert len([line for line in ours(caplog) if "this kafka-python version is unknown" in line]) == 1


# --- options --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["feed", LoadFeed(), LoadFeed("a.b", 5), no_lag, None])
def test_a_source_is_a_topic_a_feed_or_a_function(value: object) -> None:
    CooperativeLagAwareAssignor.configured(load_source=value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("load_source", name) for name in ("", "no spaces", "..", "x" * 250)],
        *[("load_source", 5), ("load_source", True), ("load_source", ["feed"]), ("load_source", {})],
        *[("load_max_age_ms", age) for age in (0, -1, float("inf"), float("nan"))],
        *[("load_max_age_ms", "5"), ("load_max_age_ms", True), ("load_max_age_ms", None)],
    ],
)
def test_a_wrong_option_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=name) as refused:
        CooperativeLagAwareAssignor.configured(**{name: value})
    assert refused.value.option == name


@pytest.mark.parametrize(
    "wrong",
    [
        {"topic": 5},
        {"topic": "a/b"},
        {"max_age_ms": 0},
        {"consumer_config": []},
        {"consumer_config": {"security_protocol": "NONE"}},
    ],
)
def test_a_wrong_feed_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="load_source"):
        LoadFeed(**wrong)


def test_no_secret_of_a_feed_shows() -> None:
    config = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "hunter2",
    }
    feed = LoadFeed(consumer_config=config)
    assert "hunter2" not in repr(feed)
    assert "hunter2" not in repr(CooperativeLagAwareAssignor(load_source=feed).options)
    with pytest.raises(OptionError) as refused:
        LoadFeed(consumer_config={**config, "sasl_mechanism": None})
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("name", ["load_source", "load_max_age_ms"])
def test_lag_aware_takes_no_forecasts(name: str) -> None:
    """It is KIP-169's to the letter."""
    with pytest.raises(ConfigurationError, match="unknown"):
        LagAwareAssignor.configured(**{name: "feed"})
    assert name in {field.name for field in fields(CooperativeLagOptions)}
