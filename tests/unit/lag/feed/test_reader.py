"""The reader of the load feed: kept and ignored records, and failures."""

from __future__ import annotations

import logging
import os
import threading
from typing import cast

import pytest

from kafka_assignors.background import Background
from kafka_assignors.errors import LagUnreachableError
from kafka_assignors.lag.feed import reader as feed_reader
from kafka_assignors.lag.feed.consumer import FeedConsumer, FeedRecord, TopicMissingError
from kafka_assignors.lag.feed.reader import FeedReader
from kafka_assignors.lag.feed.sources import expected_of
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import load_feed
from tests.support.forecast.feed_messages import HOUR_MS, MAX_AGE_MS, NOW_S, Feed, forecast, record
from tests.support.logged import ours
from tests.support.threads import thread_limit_reached

PARTITIONS = [TopicPartition("t", p) for p in range(3)]


def known(reader: FeedReader) -> dict[int, float]:
    """Round to a tenth of a record, because a few seconds of the hour have passed."""
    return {
        partition.partition: round(arrivals, 1)
        for partition, arrivals in reader.look(PARTITIONS).arrivals.items()
    }


def read(feed: Feed) -> FeedReader:
    """A reader that has caught up."""
    reader = feed.reader()
    while feed.batches:
        reader.step()
    reader.step()
    return reader


@pytest.fixture(autouse=True)
def _debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "kafka_assignors")


# --- kept records -------------------------------------------------------------------------------------------


AHEAD_S = 365 * 86_400


@pytest.mark.parametrize(
    ("batches", "kept"),
    [
        ([[record(0, forecast(1)), record(1, forecast(2))], [record(0, forecast(3))]], {0: 3, 1: 2}),
        ([[record(0, forecast(1, age_s=1)), record(0, forecast(2, age_s=2))]], {0: 2}),
        ([[record(0, forecast(1)), record(1, forecast(2)), record(0, None), record(2, None)]], {1: 2}),
        (
            [
                [record(0, forecast(5, age_s=1), by=1)],
                [record(0, forecast(4, age_s=2), by=0), record(0, None, by=0)],
                [record(1, forecast(7, age_s=2), by=0), record(1, forecast(8, age_s=1), by=1)],
            ],
            {0: 5, 1: 8},
        ),
        (
            [
                [record(0, forecast(9, age_s=-AHEAD_S), by=0)],
                [record(p, forecast(5 + p), by=1) for p in range(2)],
                [record(1, forecast(9, age_s=-AHEAD_S), by=0), record(0, forecast(7), by=1)],
            ],
            {0: 7, 1: 6},
        ),
    ],
    ids=[
        *("newer", "with an earlier event time, as compaction keeps it", "removed by a tombstone"),
        *("grown feed: old partition read late", "grown feed: event time far ahead"),
    ],
)
def test_last_forecast_of_each_partition_counts(
    batches: list[list[FeedRecord]], kept: dict[int, float]
) -> None:
    """All members must agree, though the partitions of a feed are read in any order."""
    assert known(read(Feed(*batches))) == kept


def test_forecasts_of_other_groups_are_ignored() -> None:
    feed = Feed([record(0, forecast(1)), record(0, forecast(9), group="g2"), record(1, b"x", group="g2")])
    reader = read(feed)
    assert known(reader) == {0: 1}
    assert reader.ignored == 0
    assert len(reader._known) == 1


def test_forecasts_are_scaled_to_the_horizon_of_the_newest() -> None:
    partition = dict(enumerate(PARTITIONS))
    half, other = forecast(10, age_s=5, horizon_ms=HOUR_MS // 2), forecast(6, age_s=9, horizon_ms=2 * HOUR_MS)
    now_ms = 1000 * NOW_S
    assert expected_of({partition[0]: half, partition[1]: forecast(10), partition[2]: other}, now_ms)[0] == {
        partition[0]: 20,
        partition[1]: 10,
        partition[2]: 3,
    }
    equal = forecast(10, horizon_ms=HOUR_MS // 2)
    assert expected_of({partition[0]: equal, partition[1]: forecast(10)}, now_ms)[0] == {
        partition[0]: 20,
        partition[1]: 10,
    }
    assert expected_of({}, now_ms) == ({}, {})


def test_arrivals_cover_the_rest_of_the_horizon() -> None:
    """Earlier arrivals are lag by now."""
    feed = Feed([record(0, forecast(10, age_s=15, horizon_ms=60_000)), record(1, forecast(10, age_s=-9))])
    assert read(feed).look(PARTITIONS[:1]).arrivals == {PARTITIONS[0]: 7.5}
    assert read(Feed([record(1, forecast(10, age_s=-9))])).look(PARTITIONS).arrivals == {PARTITIONS[1]: 10}


def test_forecast_with_a_past_horizon_is_ignored() -> None:
    """Even if it is not too old."""
    feed = Feed([record(0, forecast(1, age_s=50, horizon_ms=50_000)), record(1, forecast(2, age_s=50))])
    assert list(known(read(feed))) == [1]


def test_forecast_has_the_lag_of_its_time() -> None:
    feed = Feed([record(0, forecast(1, lag=7.6)), record(1, forecast(1))])
    assert read(feed).look(PARTITIONS).lags == {PARTITIONS[0]: 8}


# --- how old it may be --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age_s", "counts"), [(0, True), (60, True), (61, False), (-60, True), (-61, False)])
def test_only_fresh_forecasts_count(age_s: float, counts: bool) -> None:
    """Clocks differ, so event time may be ahead by as much as it may be old."""
    assert known(read(Feed([record(0, forecast(1, age_s=age_s))]))) == ({0: 1} if counts else {})


def test_fresh_forecast_becomes_old() -> None:
    feed = Feed([record(0, forecast(1)), record(1, forecast(2, age_s=-30))])
    reader = read(feed)
    feed.wall += 61
    assert known(reader) == {1: 2}
    feed.now += 31
    reader.step()
    assert list(reader._known) == [PARTITIONS[1]]  # expired forecasts are dropped


def test_old_records_are_not_kept() -> None:
    reader = read(Feed([record(p, forecast(1, age_s=100)) for p in range(3)]))
    assert not reader._known


def test_number_of_kept_forecasts_is_limited(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(feed_reader, "MOST_FEED_PARTITIONS", 2)
    reader = read(Feed([record(p, forecast(p)) for p in (0, 1, 2, 1)]))
    assert known(reader) == {0: 0, 1: 1}
    assert reader.ignored == 1
    assert "more than 2 partitions of group g" in caplog.text


# --- problems ----------------------------------------------------------------------------------


def test_malformed_record_is_ignored_counted_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    bad = [
        FeedRecord(0, None, b"{}"),
        FeedRecord(0, b"key", b"{}"),
        record(1, b"{"),
        record(1, b'{"version":2}'),
        record(1, b" " * (load_feed.MAX_BYTES + 1)),
        record(1, b""),
    ]
    reader = read(Feed([record(0, forecast(1)), *bad, record(2, forecast(3))], bad))
    assert known(reader) == {0: 1, 2: 3}
    assert reader.ignored == 2 * len(bad)
    assert ours(caplog) == [
        "load feed feed: ignored a record; further ones are only counted: "
        "key: not JSON: line 1, column 1: Expecting value"
    ]


@pytest.mark.parametrize(
    ("ages_s", "wall_s", "why"),
    [
        ([], 0, "it has no forecast for group g"),
        ([7_000], 0, "its newest forecast is 7,000 s old"),
        ([0], 100, "its newest forecast is 100 s old"),
        ([-90], 0, "its newest forecast is 90 s ahead"),
        ([-193_000, 8_000, 7_000], 0, "its newest forecast is 7,000 s old"),
        ([0], 0, "no fresh forecast for 2 of 3 partitions"),
    ],
)
def test_problem_explains_missing_forecasts(ages_s: list[float], wall_s: float, why: str) -> None:
    feed = Feed([record(0, forecast(1, age_s=age_s)) for age_s in ages_s])
    reader = read(feed)
    feed.wall += wall_s
    expected = reader.look(PARTITIONS)
    assert (expected.problem, expected.is_logged) == (f"load feed feed: {why}", False)


def test_unread_feed_is_no_warning() -> None:
    feed = Feed([record(0, forecast(1))], [record(1, forecast(2))])
    reader = feed.reader()
    assert reader.look(PARTITIONS).problem == "load feed feed: it is still being read"
    reader.step()
    expected = reader.look(PARTITIONS)
    assert (expected.problem, expected.is_logged) == ("load feed feed: it is still being read", True)
    assert expected.arrivals == {}  # a plan would take half a feed for a whole one
    reader.step()
    assert known(reader) == {0: 1, 1: 2}
    assert reader.look(PARTITIONS[:2]).problem == ""


def test_empty_poll_is_not_the_end_of_the_feed() -> None:
    """A broker may take its time."""
    feed = Feed([record(0, forecast(1))], [])
    feed.caught_up = False
    reader = read(feed)
    assert known(reader) == {}
    feed.caught_up = True
    reader.step()
    assert known(reader) == {0: 1}


def test_reader_catches_up_with_a_busy_feed() -> None:
    feed = Feed([record(0, forecast(1))])
    reader = feed.reader()
    reader.step()
    assert known(reader) == {0: 1}
    feed.batches = [[record(1, forecast(2))], [record(2, forecast(3))]]
    reader.step()
    assert known(reader) == {0: 1, 1: 2}


def test_record_that_raises_is_ignored(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A retry would meet the same record again."""
    decode = load_feed.decode

    def fragile(data: bytes) -> load_feed.Forecast:
        if data == b"poison":
            raise RecursionError("too deep")
        return decode(data)

    monkeypatch.setattr(load_feed, "decode", fragile)
    feed = Feed([record(0, forecast(1)), record(1, b"poison"), record(2, forecast(3))])
    reader = read(feed)
    assert known(reader) == {0: 1, 2: 3}
    assert (reader.ignored, feed.consumers) == (1, 1)
    assert "RecursionError: too deep" in caplog.text


def test_close_logs_the_number_of_ignored_records(caplog: pytest.LogCaptureFixture) -> None:
    reader = read(Feed([record(0, b"{"), record(1, b"{")]))
    reader.close()
    assert ours(caplog)[-1] == "load feed feed: closed, 2 records were ignored"


# --- when it cannot read ------------------------------------------------------------------------------------


def test_failure_is_retried_with_growing_pauses_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    feed = Feed()
    feed.error = TopicMissingError("there is no such topic")
    reader = feed.reader()
    assert [reader.step() for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert feed.is_open == 0
    expected = reader.look(PARTITIONS)
    assert (expected.problem, expected.is_logged) == ("load feed feed: there is no such topic", True)
    feed.error = None
    feed.batches = [[record(0, forecast(1))]]
    assert reader.step() == 0
    assert known(reader) == {0: 1}
    assert ours(caplog) == [
        "load feed feed: there is no such topic; trying again in 1.0 s",
        "load feed feed: reading works again",
    ]
    feed.error = TopicMissingError("there is no such topic")
    assert reader.step() == 1
    assert len(ours(caplog, logging.WARNING)) == 2


def test_different_failure_is_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    feed = Feed()
    reader = feed.reader()
    for error in (TopicMissingError("no"), LagUnreachableError("a"), LagUnreachableError("b"), OSError("c")):
        feed.error = error
        reader.step()
    assert [line.split(": ", 1)[1].split(";")[0] for line in ours(caplog)] == ["no", "a", "OSError: c"]


def test_known_forecasts_count_while_reading_fails() -> None:
    feed = Feed([record(0, forecast(1))])
    reader = read(feed)
    feed.error = LagUnreachableError("gone")
    reader.step()
    assert known(reader) == {0: 1}
    feed.wall += 61
    assert known(reader) == {}


def test_topic_created_again_is_read_from_its_beginning() -> None:
    feed = Feed([record(0, forecast(1)), record(1, forecast(2))])
    reader = read(feed)
    feed.same = False
    feed.now += 29
    reader.step()
    assert (feed.looks, feed.consumers) == (0, 1)
    feed.now += 2
    feed.batches = [[record(0, forecast(3))]]
    feed.caught_up = False  # which leaves all that is known
    reader.step()
    assert (feed.looks, feed.consumers, feed.is_open) == (1, 2, 1)
    assert known(reader) == {0: 3, 1: 2}  # forecasts missing in the new topic count until they are old


def test_deleted_topic_is_noticed_without_poll_errors(caplog: pytest.LogCaptureFixture) -> None:
    feed = Feed()
    reader = read(feed)
    feed.now += 31
    feed.error = TopicMissingError("there is no such topic")
    assert reader.step() == 1
    assert ours(caplog) == ["load feed feed: there is no such topic; trying again in 1.0 s"]


def test_read_once_reads_on_the_calling_thread(caplog: pytest.LogCaptureFixture) -> None:
    """For a program that only looks; it reports problems itself."""
    before = set(threading.enumerate())
    feed = Feed([record(0, forecast(1))], [record(1, forecast(2))])
    reader = feed.reader()
    reader.read_once(10)
    assert known(reader) == {0: 1, 1: 2}
    reader.close()
    feed = Feed()
    feed.error = TopicMissingError("there is no such topic")
    reader = feed.reader()
    reader.read_once(10)
    assert feed.consumers == 1
    assert reader.look(PARTITIONS).problem == "load feed feed: there is no such topic"
    reader.close()
    assert set(threading.enumerate()) <= before
    assert not ours(caplog)


def test_read_once_ends_in_time() -> None:
    """The feed is written faster than it is read."""
    feed = Feed(*[[record(0, forecast(p))] for p in range(9)])
    taken = [0.0]

    def now() -> float:
        taken[0] += 1
        return taken[0]

    reader = FeedReader(feed.connect, "feed", "g", MAX_AGE_MS, wall=lambda: feed.wall, now=now)
    reader.read_once(5)
    assert 1 <= len(feed.batches) < 9
    reader.close()


# --- its thread ---------------------------------------------------------------------------------------------


def started(feed: Feed) -> tuple[FeedReader, set[threading.Thread]]:
    feed.hangs = True
    before = set(threading.enumerate())
    reader = feed.reader()
    reader.begin()
    reader.begin()
    assert feed.polling.wait(10)
    return reader, set(threading.enumerate()) - before


def test_close_ends_the_thread_while_it_waits_for_records() -> None:
    reader, threads = started(feed := Feed([record(0, forecast(1))]))
    assert [(thread.name, thread.daemon) for thread in threads] == [("kafka-assignors-feed", True)]
    assert known(reader) == {0: 1}
    reader.close()
    assert not any(thread.is_alive() for thread in threads)
    assert (feed.consumers, feed.is_open) == (1, 0)
    reader.close()


def test_closed_reader_does_not_start_again(caplog: pytest.LogCaptureFixture) -> None:
    before = set(threading.enumerate())
    feed = Feed()
    reader = feed.reader()
    reader.close()
    reader.begin()
    assert set(threading.enumerate()) <= before
    assert feed.consumers == 0
    assert not caplog.messages


def test_reader_whose_thread_cannot_start_begins_at_the_next_join() -> None:
    feed = Feed([record(0, forecast(1))])
    feed.hangs = True
    reader = feed.reader()
    with thread_limit_reached():
        reader.begin()
    reader.begin()
    assert feed.polling.wait(10)
    assert known(reader) == {0: 1}
    reader.close()


def test_close_during_connect_leaves_nothing_open(caplog: pytest.LogCaptureFixture) -> None:
    feed = Feed()
    connecting, go_on = threading.Event(), threading.Event()

    def connect() -> FeedConsumer:
        connecting.set()
        assert go_on.wait(10)
        return feed.connect()

    reader = FeedReader(connect, "feed", "g", MAX_AGE_MS)
    reader.begin()
    assert connecting.wait(10)
    closing = threading.Thread(target=reader.close)
    closing.start()
    while not reader._closed:
        pass
    go_on.set()
    closing.join(10)
    assert (feed.consumers, feed.opened, feed.is_open) == (1, 0, 0)
    assert not caplog.messages


def test_forked_process_reads_itself_and_closes_only_its_own_consumer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, threads = started(feed := Feed())
    monkeypatch.setattr(os, "getpid", lambda: -1)
    reader.close()  # the child never began: nothing of the parent's ends
    assert feed.is_open == 1
    assert all(thread.is_alive() for thread in threads)
    reader._closed = False
    feed.polling.clear()
    reader.begin()
    assert feed.polling.wait(10)
    assert (feed.consumers, feed.is_open) == (2, 2)
    reader.close()
    assert feed.is_open == 1
    assert all(thread.is_alive() for thread in threads)
    consumer, line = reader._of_parent
    cast("FeedConsumer", consumer).shut()
    cast("Background", line).stop()
    for thread in threads:
        thread.join(10)
