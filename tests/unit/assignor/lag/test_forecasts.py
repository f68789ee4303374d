"""``load_source``: forecasts in the plans of ``cooperative-lag-aware``."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from typing import Any, cast

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
from kafka_assignors.lag.feed.sources import Expected, PolledLoad
from kafka_assignors.lag.keeper import LagKeeper
from kafka_assignors.plan import Group, Reason, TopicPartition
from kafka_assignors.plan.cause import Cause
from tests.support.forecast.feed_messages import Feed, forecast, record
from tests.support.group.joining import cluster, joined, own, plan_of, raw
from tests.support.logged import ours
from tests.support.plan.builders import member
from tests.support.waiting import until
from tests.unit.conftest import MakeConsumer, joining

TOPICS = {"t": 4}
ALL = [TopicPartition("t", p) for p in range(4)]
HEAVY = {ALL[0]: 100.0, ALL[1]: 10.0, ALL[2]: 10.0, ALL[3]: 90.0}


def no_lag(partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    return dict.fromkeys(partitions, 0)


def heavy_lag(partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    return {partition: round(HEAVY[partition]) for partition in partitions}


class Forecasts:
    """A ``load_source`` that records its calls."""

    def __init__(self, answer: Mapping[TopicPartition, Any] = HEAVY) -> None:
        self.answer = dict(answer)
        self.error: Exception | None = None
        self.asked: list[set[TopicPartition]] = []

    def __call__(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, float]:
        self.asked.append(set(partitions))
        if self.error is not None:
            raise self.error
        return self.answer


class World:
    """A leader of two members, and its plans."""

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
        """Wait for the background call of the function, unless it hangs."""
        source = self.assignor._forecasts and self.assignor._forecasts.source
        if isinstance(source, PolledLoad) and not self.hangs and not self.assignor._second_round.is_settling:
            source._wanted = frozenset()
            source.look(ALL)
            source._thread.submit(lambda: None).result(60)

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


@pytest.fixture(autouse=True)
def _debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "kafka_assignors")


# --- the plan -------------------------------------------------------------------------------------------


def test_plan_balances_lag_plus_forecast(made: Make) -> None:
    """By lag alone one member could get both heavy partitions."""
    world = made(Forecasts())
    assert world.rebalance() == {"a": [0, 2], "b": [1, 3]}
    assert world.loads == [100, 10, 10, 90]
    assert world.reports[0].metrics.max_load == 110
    world = made(Forecasts(), lag_source=lambda _: {ALL[0]: 0, ALL[1]: 95, ALL[2]: 1, ALL[3]: 0})
    assert sorted(world.rebalance().values()) == [[0, 3], [1, 2]]
    assert world.loads == [100, 105, 11, 90]


def test_report_and_log_show_forecasts(made: Make, caplog: pytest.LogCaptureFixture) -> None:
    source = Forecasts({partition: HEAVY[partition] for partition in ALL[:3]})
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


def test_reason_is_expected_load_only_with_forecasts(made: Make) -> None:
    source = Forecasts()
    world = made(source)
    world.rebalance({"a": [0, 3], "b": [1, 2]})
    assert {why.reason for why in world.reports[0].why()} == {Reason.KEPT, Reason.EXPECTED_LOAD}
    world = made(Forecasts({}), lag_source=heavy_lag)
    world.rebalance({"a": [0, 3], "b": [1, 2]})
    assert {why.reason for why in world.reports[0].why()} == {Reason.KEPT, Reason.LOAD}


def test_report_without_load_source_has_no_forecasts(caplog: pytest.LogCaptureFixture) -> None:
    for kind in (CooperativeLagAwareAssignor, LagAwareAssignor):
        seen: list[PlanReport] = []
        assignor = kind(lag_source=no_lag, on_plan=seen.append)
        assignor.assign(cluster(TOPICS), [joined(name, raw(["t"], b"")) for name in "ab"])
        assert seen[0].forecasts is None
        assignor.close()
    assert "forecast" not in caplog.text
    assert " load=" not in caplog.text


def test_small_differences_move_nothing_with_forecasts(made: Make) -> None:
    """``min_improvement`` applies to the whole load."""
    world = made(Forecasts({ALL[0]: 52.0, ALL[1]: 53.0, ALL[2]: 50.0, ALL[3]: 50.0}))
    assert world.rebalance({"a": [0, 1], "b": [2, 3]}) == {"a": [0, 1], "b": [2, 3]}


def test_topics_with_one_subscriber_need_no_lag(made: Make, caplog: pytest.LogCaptureFixture) -> None:
    source = Forecasts()
    world = made(source)
    members = [joined("a", raw(["t"], b"")), joined("b", raw(["u"], b""))]
    world.assignor.assign(cluster({"t": 2, "u": 2}), members)
    assert source.asked == []
    assert ours(caplog) == []


# --- rounds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("passed_s", "is_later"), [(50, True), (61, False)])
def test_round_long_after_the_first_plans_with_new_figures(
    passed_s: float, is_later: bool, made: Make
) -> None:
    """A member may be busy for minutes; then the figures are older than any report that counts, 60 s."""
    world = made(Forecasts())
    first = world.rebalance({"a": [0, 3], "b": [1, 2]})
    world.assignor._first_round_s -= passed_s
    world.rebalance(first)
    assert world.assignor._is_later_round == is_later


def test_second_round_plans_with_the_forecasts_of_the_first(made: Make) -> None:
    """Even if the forecasts have changed or are gone."""
    for later in ({partition: 100.0 - records for partition, records in HEAVY.items()}, {}):
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
        assert world.loads == [round(later.get(partition, 0)) for partition in ALL]


def test_rebalance_that_began_without_forecasts_ends_without(made: Make) -> None:
    """The reader caught up between the rounds."""
    source = Forecasts({})
    world = made(source, lag_source=heavy_lag)
    first = world.rebalance({"a": [0, 3], "b": [1, 2]})
    source.answer = {partition: 1000.0 * (partition.partition + 1) for partition in ALL}
    world.rebalance(first)
    assert [report.forecasts for report in world.reports] == [0, 0]
    assert world.reports[0].target == world.reports[1].target


def test_forecasts_of_an_earlier_rebalance_are_not_used_again() -> None:
    """The first round had no topic with two subscribers, and a member joined before the second round."""

    class Source:
        def look(self, _partitions: Collection[TopicPartition]) -> Expected:
            return Expected(HEAVY)

    forecasts = LoadForecasts("s", cast("Any", Source()))
    shared = Group((member("a"), member("b")), {"t": 4}, lags={"t": [0] * 4})
    forecasts.with_planned_forecasts(shared, is_later_round=False)
    assert forecasts.count == 4
    forecasts.with_planned_forecasts(replace(shared, lags={}), is_later_round=False)
    assert forecasts.with_planned_forecasts(shared, is_later_round=True) is shared
    assert forecasts.count == 0


# --- when there is none ---------------------------------------------------------------------------------


def test_too_few_forecasts_are_ignored_and_each_change_is_logged(
    made: Make, caplog: pytest.LogCaptureFixture
) -> None:
    source = Forecasts({ALL[0]: 5.0})
    world = made(source)
    for _ in range(3):
        world.rebalance({"a": [0, 3], "b": [1, 2]})
        assert world.loads == [0] * 4
    assert ours(caplog) == [
        "cooperative-lag-aware: too few forecasts (1), planning by lag alone: "
        "load_source returned nothing for t-1"
    ]
    source.answer = dict(HEAVY)
    for _ in range(2):
        world.rebalance({"a": [0, 1], "b": [2, 3]})
    assert ours(caplog)[1:] == ["cooperative-lag-aware: planning by lag and 4 forecasts"]
    source.answer = {}
    world.rebalance({"a": [0, 1], "b": [2, 3]})
    assert len(ours(caplog, logging.WARNING)) == 2


def test_passing_problem_is_logged_as_info_and_a_later_one_as_warning(
    made: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The feed is still being read, then turns out to be old."""
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
        "cooperative-lag-aware: too few forecasts (0), planning by lag alone: "
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
def test_invalid_answers_of_load_source_are_ignored(
    what: object, why: str, made: Make, caplog: pytest.LogCaptureFixture
) -> None:
    source = Forecasts(dict.fromkeys(ALL, what))
    source.error = what if isinstance(what, Exception) else None
    world = made(source)
    world.rebalance()
    assert world.loads == [0] * 4
    assert ours(caplog) == [f"cooperative-lag-aware: too few forecasts (0), planning by lag alone: {why}"]


def test_hanging_load_source_holds_up_neither_plan_nor_lag(
    made: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """It would hang forever."""
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
            "cooperative-lag-aware: too few forecasts (0), planning by lag alone: "
            "load_source has not answered yet"
        ]
    finally:
        go_on.set()


def test_broken_source_costs_forecasts_but_not_lag(
    made: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: object, *args: object, **more: object) -> Group:
        raise ZeroDivisionError

    monkeypatch.setattr(LoadForecasts, "with_planned_forecasts", broken)
    world = made(Forecasts(), lag_source=lambda partitions: dict.fromkeys(partitions, 7))
    world.rebalance()
    assert world.loads == [7] * 4
    assert "adding forecasts failed" in caplog.text


# --- the watch over skew --------------------------------------------------------------------------------


def test_skew_watcher_sees_lag_plus_forecast(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lag is even or unknown; the forecasts are not."""
    asked: list[Cause] = []
    policy = RebalanceOnSkew(threshold=1.2, at_least=1, for_s=0, check_s=0.01, cool_down_s=0, jitter=0)
    source = Forecasts({})
    world = made(source, rebalance_on_skew=policy, lag_refresh_ms=50)
    access = world.assignor._access
    monkeypatch.setattr(
        type(access), "request_rejoin_threadsafe", lambda _side, cause, _generation: asked.append(cause)
    )
    world.rebalance({"a": [0, 3], "b": [1, 2]})
    looks = len(source.asked)
    until(lambda: len(source.asked) > looks + 3)
    assert not asked
    source.answer = dict(HEAVY)
    until(lambda: asked)
    assert set(asked) == {Cause.FORECAST}


# --- a feed ---------------------------------------------------------------------------------------------


def test_feed_reader_starts_at_the_first_join(
    made: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Before the feed is read the leader plans by lag, without a warning."""
    feed = Feed([record(p, forecast(HEAVY[ALL[p]])) for p in range(4)])
    feed.hangs = True
    asked: list[tuple[str, float]] = []

    def reader(option: LoadFeed, config: Mapping[str, Any], max_age_ms: float) -> FeedReader:
        asked.append((option.topic, max_age_ms))
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


def test_feed_reader_uses_the_consumers_configuration_and_group(consumer: MakeConsumer) -> None:
    """No broker answers; no call waits, and no thread survives the consumer."""
    before = set(threading.enumerate())
    made = consumer(CooperativeLagAwareAssignor.configured(load_source="feed"))
    assignor = joining(made)
    names = {thread.name for thread in set(threading.enumerate()) - before}
    assert "kafka-assignors-feed" in names
    assert assignor._forecasts.source._group_id == "g"
    made.close()
    assert set(threading.enumerate()) <= before


def closed_readers(monkeypatch: pytest.MonkeyPatch) -> list[FeedReader]:
    """Return a list that gets the reader of each call of ``FeedReader.close``."""
    closed: list[FeedReader] = []
    close = FeedReader.close

    def close_and_note(reader: FeedReader) -> None:
        closed.append(reader)
        close(reader)

    monkeypatch.setattr(FeedReader, "close", close_and_note)
    return closed


def test_consumer_closes_feed_reader_once(consumer: MakeConsumer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lag fetching and the feed each ask for a call of ``close``."""
    closed = closed_readers(monkeypatch)
    made = consumer(CooperativeLagAwareAssignor.configured(load_source="feed", lag_source=no_lag))
    assignor = joining(made)
    assert assignor._open_keeper() is not None
    made.close()
    assert closed == [assignor._forecasts.source]


def test_feed_reader_is_closed_if_closing_the_keeper_fails(
    made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_keeper: LagKeeper) -> None:
        raise ZeroDivisionError

    closed = closed_readers(monkeypatch)
    world = made(LoadFeed(consumer_config={"bootstrap_servers": "nowhere:1", "group_id": "g"}))
    forecasts = world.assignor._open_forecasts()
    assert forecasts is not None
    assert world.assignor._open_keeper() is not None
    with monkeypatch.context() as patch:
        patch.setattr(LagKeeper, "close", fails)
        with pytest.raises(ZeroDivisionError):
            world.assignor.close()
    assert closed == [forecasts.source]


def test_feed_may_be_in_another_cluster() -> None:
    """Other settings, and always the group, are the consumer's."""
    elsewhere = {"bootstrap_servers": "there:1", "group_id": "other"}
    feed = LoadFeed(consumer_config=elsewhere)
    here = {"bootstrap_servers": "here:1", "client_id": "c", "group_id": "g"}
    reader = feed.reader(here, 5)
    assert reader._group_id == "g"
    assert feed.reader({}, 5)._group_id == "other"
    assert (reader._max_age_ms, LoadFeed(max_age_ms=7).reader(here, 5)._max_age_ms) == (5, 7)


@pytest.mark.parametrize(
    "differs",
    [
        {"security_protocol": "SASL_SSL"},
        {"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-256"},
        {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"},
    ],
)
def test_feed_may_take_the_rest_of_its_security_from_the_consumer(differs: dict[str, str]) -> None:
    rest = {"sasl_mechanism": "PLAIN", "sasl_plain_username": "me", "sasl_plain_password": "hunter2"}
    feed = LoadFeed(consumer_config=differs)
    assert feed.reader({"group_id": "g", **rest, "sasl_oauth_token_provider": object()}, 5)._group_id == "g"
    with pytest.raises(OptionError, match="missing, s"):
        feed.reader({"group_id": "g"}, 5)


def test_feed_without_a_group_costs_one_warning(made: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Only an assignor without a consumer has no group."""
    world = made("feed")
    for _ in range(2):
        world.rebalance()
    assert [line for line in ours(caplog, logging.WARNING) if "group_id" in line] == [
        "cooperative-lag-aware: no forecasts, planning by lag alone: "
        "option 'group_id': missing: lag belongs to a group; set group_id"
    ]
    assert world.reports[0].forecasts == 0


def test_unknown_kafka_python_gets_no_feed_thread(
    consumer: MakeConsumer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No call would end it."""
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
def test_load_source_is_a_topic_a_feed_or_a_function(value: object) -> None:
    CooperativeLagAwareAssignor.configured(load_source=value)


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
def test_wrong_feed_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="load_source"):
        LoadFeed(**wrong)


def test_repr_of_a_feed_hides_secrets() -> None:
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
    """It follows KIP-169 exactly."""
    with pytest.raises(ConfigurationError, match="unknown"):
        LagAwareAssignor.configured(**{name: "feed"})
    assert name in {field.name for field in fields(CooperativeLagOptions)}
