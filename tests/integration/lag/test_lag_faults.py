"""The lag fetcher on a faulty broker neither hangs nor returns wrong lag.

Every test ends with no thread of kafka-python left.  Times are upper limits with room for a busy machine.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, nullcontext, suppress
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaPartition
from kafka.admin import NewTopic, ResourceType

from kafka_assignors.broker import development_broker
from kafka_assignors.broker.ports import HOST, free_ports
from kafka_assignors.errors import (
    LagClosedError,
    LagDeniedError,
    LagError,
    LagTimeoutError,
    LagUnreachableError,
)
from kafka_assignors.lag import LagFetcher, Offsets
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.guarded import PASSWORD, Guarded
from tests.integration.lagging import commit, write
from tests.integration.proxy import Mode
from tests.integration.reading import leaderless
from tests.integration.two_brokers import InZones, one_more_broker, wait_until_seen
from tests.support.waiting import until

ENOUGH = 12  # answers of a broker: a whole look at one partition takes fewer
AMPLE_MS = 30_000  # for what is to succeed
SHORT_MS = 1_000  # for what is to run into it
SEVERAL_TRIES_MS = 3_000  # for what is to run into it, having tried more than once
SLACK_S = 5.0  # what a busy machine may add to a deadline; what hangs takes longer
SOON_S = 5.0  # "at once", likewise


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Check after each test that the threads of closed fetchers end."""
    before = set(threading.enumerate())
    yield

    def left() -> list[threading.Thread]:
        return [t for t in threading.enumerate() if t not in before and t.name.startswith("kafka-io")]

    until(lambda: not left(), "the threads of kafka-python to end", patience_s=10)


def fetcher(bootstrap: str, group_id: str, **config: Any) -> closing[LagFetcher]:
    """A fetcher that is closed at the end."""
    config = {"bootstrap_servers": bootstrap, "group_id": group_id, "auto_offset_reset": "earliest", **config}
    return closing(LagFetcher(config))


def timed(call: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    started = time.monotonic()
    call()
    return time.monotonic() - started


def refused(made: LagFetcher, tp: TopicPartition, timeout_ms: float = SHORT_MS) -> LagError:
    """Return the error of a fetch, which must end in time."""
    started = time.monotonic()
    with pytest.raises(LagError) as caught:
        made.fetch([tp], timeout_ms)
    assert time.monotonic() - started < timeout_ms / 1000 + SLACK_S
    return caught.value


# --- all is well -------------------------------------------------------------------------------------------


def test_lag_counts_from_commits_where_there_are_some(fresh: FreshNames) -> None:
    topic, group_id = fresh.topic(4), fresh.group()
    tps = [TopicPartition(topic, p) for p in range(4)]
    write(fresh.bootstrap, {tps[0]: 5, tps[1]: 7, tps[2]: 3})
    commit(fresh.bootstrap, group_id, {tps[0]: 2, tps[1]: 7})
    with fetcher(fresh.bootstrap, group_id) as made:
        reading = made.fetch([*tps, TopicPartition(topic, 9), TopicPartition("no-such-topic", 0)], AMPLE_MS)
        assert reading.lags == dict(zip(tps, (3, 0, 3, 0), strict=True))
        assert reading.offsets == {
            tps[0]: Offsets(0, 5, 2),
            tps[1]: Offsets(None, 7, 7),
            tps[2]: Offsets(0, 3, None),
            tps[3]: Offsets(None, 0, None),
        }
        assert reading.missing == dict.fromkeys(
            [TopicPartition(topic, 9), TopicPartition("no-such-topic", 0)], "no such partition"
        )
        write(fresh.bootstrap, {tps[3]: 1})
        theirs = made.fetch([KafkaPartition(*tp) for tp in tps], AMPLE_MS)  # kafka-python's own are as good
        assert list(theirs.lags.values()) == [3, 0, 3, 1]


@pytest.mark.parametrize(("reset", "lag"), [("earliest", 4), ("latest", 0), ("none", 4)])
def test_unknown_group_has_no_commits(fresh: FreshNames, reset: str, lag: int) -> None:
    tp = TopicPartition(fresh.topic(), 0)
    write(fresh.bootstrap, {tp: 4})
    with fetcher(fresh.bootstrap, fresh.group(), auto_offset_reset=reset) as made:
        assert made.fetch([tp], AMPLE_MS).lags == {tp: lag}


def test_deleted_records_and_recreated_topic(fresh: FreshNames) -> None:
    """A commit outside the log counts as none, as it does for the consumer."""
    tp, group_id = TopicPartition(fresh.topic(), 0), fresh.group()
    write(fresh.bootstrap, {tp: 10})
    commit(fresh.bootstrap, group_id, {tp: 2})
    with (
        KafkaAdminClient(bootstrap_servers=fresh.bootstrap) as admin,
        fetcher(fresh.bootstrap, group_id) as made,
        fetcher(fresh.bootstrap, group_id, auto_offset_reset="latest") as from_the_end,
    ):
        assert made.fetch([tp], AMPLE_MS).lags == {tp: 8}
        admin.delete_records({KafkaPartition(*tp): 6})
        assert made.fetch([tp], AMPLE_MS).offsets == {tp: Offsets(6, 10, 2)}
        assert made.fetch([tp], AMPLE_MS).lags == {tp: 4}
        assert from_the_end.fetch([tp], AMPLE_MS).lags == {tp: 0}

        admin.delete_topics([tp.topic])
        until(lambda: tp in made.fetch([tp], AMPLE_MS).missing)
        admin.create_topics([NewTopic(tp.topic, 1, 1)])
        write(fresh.bootstrap, {tp: 1})
        # The broker forgets the commits of a topic that is deleted; a client that lives on commits again.
        commit(fresh.bootstrap, group_id, {tp: 8})
        assert made.fetch([tp], AMPLE_MS).offsets == {tp: Offsets(0, 1, 8)}
        assert made.fetch([tp], AMPLE_MS).lags == {tp: 1}
        assert from_the_end.fetch([tp], AMPLE_MS).lags == {tp: 0}


def test_topic_deleted_between_two_fetches(fresh: FreshNames) -> None:
    """The second fetch uses the leaders of the first, one of which has lost its partition."""
    doomed, stays = (TopicPartition(topic, 0) for topic in fresh.topics(1, 1))
    write(fresh.bootstrap, {doomed: 1, stays: 2})
    with fetcher(fresh.bootstrap, fresh.group()) as made:
        assert made.fetch([doomed, stays], AMPLE_MS).lags == {doomed: 1, stays: 2}
        admin = KafkaAdminClient(bootstrap_servers=fresh.bootstrap)
        admin.delete_topics([doomed.topic])
        admin.close()
        until(lambda: doomed in made.fetch([doomed, stays], AMPLE_MS).missing)
        reading = made.fetch([doomed, stays], AMPLE_MS)
        assert (reading.lags, reading.missing) == ({stays: 2}, {doomed: "no such partition"})


def test_several_threads_fetch_at_once(fresh: FreshNames) -> None:
    topic = fresh.topic(20)
    tps = [TopicPartition(topic, p) for p in range(20)]
    write(fresh.bootstrap, dict.fromkeys(tps, 1))
    reading_now: list[dict[TopicPartition, int]] = []
    with fetcher(fresh.bootstrap, fresh.group()) as made:
        threads = [
            threading.Thread(target=lambda tp=tp: reading_now.append(dict(made.fetch([tp], AMPLE_MS).lags)))
            for tp in tps
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(reading_now, key=list) == [{tp: 1} for tp in tps]


# --- not let in --------------------------------------------------------------------------------------------


def test_denied_topic_leaves_other_lags_known(guarded: Guarded, names: FreshNames) -> None:
    group_id = names.group()
    seen, denied = (TopicPartition(topic, 0) for topic in names.topics(1, 1))
    write(guarded.bootstrap, {seen: 3, denied: 5})
    commit(guarded.bootstrap, group_id, {seen: 1, denied: 1})
    guarded.allow(ResourceType.GROUP, group_id)
    guarded.allow(ResourceType.TOPIC, seen.topic)
    with fetcher(guarded.sasl, group_id, **guarded.config()) as made:
        reading = made.fetch([seen, denied], AMPLE_MS)
    assert reading.lags == {seen: 2}
    assert reading.missing == {denied: "not authorised to describe the topic"}


def test_denied_group_is_an_error(guarded: Guarded, names: FreshNames) -> None:
    tp = TopicPartition(names.topic(), 0)
    guarded.allow(ResourceType.TOPIC, tp.topic)
    with fetcher(guarded.sasl, names.group(), **guarded.config()) as made:
        error = refused(made, tp, AMPLE_MS)
    assert isinstance(error, LagDeniedError)
    assert "GroupAuthorizationFailed" in str(error)


def test_wrong_password_is_an_error_without_the_password(
    guarded: Guarded, names: FreshNames, caplog: pytest.LogCaptureFixture
) -> None:
    """The error comes at once, not at the deadline, and never contains the password."""
    wrong = "not-" + PASSWORD
    caplog.set_level(logging.DEBUG)
    with fetcher(guarded.sasl, names.group(), **guarded.config(wrong)) as made:
        assert timed(lambda: refused(made, TopicPartition("t", 0), AMPLE_MS)) < AMPLE_MS / 2000
        error = refused(made, TopicPartition("t", 0), AMPLE_MS)
        assert isinstance(error, LagDeniedError)
        assert "authentication" in str(error).lower()
        chain = [error, error.__cause__, error.__context__]
        assert not any(wrong in f"{one!r} {one}" for one in [*chain, made])
    assert caplog.text
    assert wrong not in caplog.text


def test_right_password_is_not_in_errors(
    guarded: Guarded, names: FreshNames, caplog: pytest.LogCaptureFixture
) -> None:
    """kafka-python prints whole requests and bytes at DEBUG, those of other clients included; not ours."""
    group_id, tp = names.group(), TopicPartition(names.topic(), 0)
    guarded.allow(ResourceType.GROUP, group_id)
    guarded.allow(ResourceType.TOPIC, tp.topic)
    caplog.set_level(logging.DEBUG)
    with fetcher(guarded.sasl, group_id, **guarded.config()) as made:
        assert made.fetch([tp], AMPLE_MS).lags == {tp: 0}
    assert caplog.text
    assert PASSWORD not in caplog.text
    logging.getLogger("kafka.net.connection").debug("of another thread")
    assert "of another thread" in caplog.text


def test_tls_to_a_plaintext_port_is_an_error(guarded: Guarded, names: FreshNames) -> None:
    with fetcher(guarded.bootstrap, names.group(), security_protocol="SSL") as made:
        error = refused(made, TopicPartition("t", 0))
    assert isinstance(error, LagUnreachableError)
    assert "ends in the TLS handshake" in str(error)


@pytest.mark.parametrize("answers", [1, 1000])
def test_plaintext_to_a_tls_port_is_an_error(answers: int) -> None:
    """A server with TLS answers unreadable bytes with an alert and closes the connection.

    The error names it even if later attempts get no answer before the deadline.
    """
    with socket.create_server((HOST, 0)) as server:
        server.settimeout(0.05)
        ended = threading.Event()

        def alert() -> None:
            with ExitStack() as silent:
                left = answers
                while not ended.is_set():
                    with suppress(OSError):  # no client, or it has disconnected
                        client, _ = server.accept()
                        silent.enter_context(client)
                        if left:
                            left -= 1
                            client.recv(100)
                            client.sendall(b"\x15\x03\x03\x00\x02\x02\x46")
                            client.close()

        thread = threading.Thread(target=alert)
        thread.start()
        try:
            with fetcher(f"{HOST}:{server.getsockname()[1]}", "g") as made:
                error = refused(made, TopicPartition("t", 0), SEVERAL_TRIES_MS)
            assert isinstance(error, LagUnreachableError)
        finally:
            ended.set()
            thread.join()


def test_sasl_to_a_plaintext_listener_is_an_error(guarded: Guarded, names: FreshNames) -> None:
    config = guarded.config() | {"bootstrap_servers": guarded.bootstrap}
    with fetcher(guarded.bootstrap, names.group(), **config) as made:
        assert isinstance(refused(made, TopicPartition("t", 0)), LagError)


# --- no broker, or a slow one -------------------------------------------------------------------------------


def test_port_without_listener_is_an_error() -> None:
    with fetcher(f"{HOST}:{free_ports(1)[0]}", "g") as made:
        error = refused(made, TopicPartition("t", 0), SEVERAL_TRIES_MS)
        assert isinstance(error, LagUnreachableError)
        assert "ECONNREFUSED" in str(error)


@pytest.mark.parametrize("security", ["PLAINTEXT", "SSL"])
def test_silent_listener_is_an_error_within_the_deadline(security: str) -> None:
    """With TLS this is where the admin client's own constructor would wait forever."""
    with socket.create_server((HOST, 0)) as silent:
        port = silent.getsockname()[1]
        with fetcher(f"{HOST}:{port}", "g", security_protocol=security) as made:
            error = refused(made, TopicPartition("t", 0))
            assert isinstance(error, LagTimeoutError | LagUnreachableError), "on a busy machine a try may end"
            assert timed(made.close) < SOON_S


@pytest.mark.parametrize(("mode", "error"), [("stall", LagTimeoutError), ("cut", LagUnreachableError)])
def test_fetcher_recovers_from_a_silent_broker_and_a_cut_connection(
    guarded: Guarded, names: FreshNames, mode: Mode, error: type[LagError]
) -> None:
    tp = TopicPartition(names.topic(), 0)
    write(guarded.bootstrap, {tp: 3})
    with fetcher(guarded.proxied, names.group()) as made:
        assert made.fetch([tp], AMPLE_MS).lags == {tp: 3}
        guarded.proxy.mode = mode
        assert isinstance(refused(made, tp), error)
        guarded.proxy.reset()
        assert made.fetch([tp], AMPLE_MS).lags == {tp: 3}


@pytest.mark.parametrize("answers", range(1, ENOUGH + 1))
def test_broker_silent_during_a_fetch(guarded: Guarded, names: FreshNames, answers: int) -> None:
    """After any number of answers the fetch ends in time with an error or with correct lag."""
    tp, group_id = TopicPartition(names.topic(), 0), names.group()
    write(guarded.bootstrap, {tp: 3})
    commit(guarded.bootstrap, group_id, {tp: 1})
    guarded.proxy.stall_after = guarded.proxy.pieces + answers
    with fetcher(guarded.proxied, group_id) as made:
        started = time.monotonic()
        # kafka-python may drop a connection that is silent in its handshake before the fetch times out.
        with nullcontext() if answers == ENOUGH else suppress(LagTimeoutError, LagUnreachableError):
            assert made.fetch([tp], SHORT_MS).lags == {tp: 2}
        assert time.monotonic() - started < SHORT_MS / 1000 + SLACK_S
        guarded.proxy.reset()
        assert made.fetch([tp], AMPLE_MS).lags == {tp: 2}


def test_connection_cut_during_a_fetch_is_reopened_in_time(guarded: Guarded, names: FreshNames) -> None:
    tp = TopicPartition(names.topic(), 0)
    write(guarded.bootstrap, {tp: 3})
    proxy = guarded.proxy
    proxy.stall_after = proxy.pieces + 5
    reading_now: list[dict[TopicPartition, int]] = []
    with fetcher(guarded.proxied, names.group()) as made:
        asking = threading.Thread(target=lambda: reading_now.append(dict(made.fetch([tp], AMPLE_MS).lags)))
        asking.start()
        until(lambda: proxy.mode == "stall" or not asking.is_alive())
        proxy.mode = "cut"
        until(lambda: proxy.is_idle, "the connections to end")
        proxy.reset()
        asking.join()
    assert reading_now == [{tp: 3}]


def test_slow_broker_is_waited_for(guarded: Guarded, names: FreshNames) -> None:
    """A slow broker's answers are complete if the time is enough; else the deadline holds."""
    tp = TopicPartition(names.topic(), 0)
    write(guarded.bootstrap, {tp: 3})
    guarded.proxy.delay_s = 0.3
    with fetcher(guarded.proxied, names.group()) as made:
        assert made.fetch([tp], AMPLE_MS).lags == {tp: 3}
    with fetcher(guarded.proxied, names.group()) as made:
        assert isinstance(refused(made, tp, 500), LagTimeoutError)


# --- close -------------------------------------------------------------------------------------------------


def test_close_ends_a_running_fetch(guarded: Guarded, names: FreshNames) -> None:
    guarded.proxy.mode = "stall"
    accepted = guarded.proxy.accepted
    ended: list[tuple[float, BaseException]] = []
    with fetcher(guarded.proxied, names.group()) as made:

        def ask() -> None:
            try:
                made.fetch([TopicPartition("t", 0)], AMPLE_MS)
            except LagError as error:
                ended.append((time.monotonic(), error))

        asking = threading.Thread(target=ask)
        asking.start()
        until(lambda: guarded.proxy.accepted > accepted, "a request to wait for the broker")
        closed = time.monotonic()
        assert timed(made.close) < SOON_S
        asking.join()
    ((when, error),) = ended
    assert isinstance(error, LagClosedError)
    assert when - closed < SOON_S


def test_closed_fetcher_stays_closed(fresh: FreshNames) -> None:
    tp = TopicPartition(fresh.topic(), 0)
    with fetcher(fresh.bootstrap, fresh.group()) as made:
        made.fetch([tp], AMPLE_MS)
        made.close()
        made.close()
        assert isinstance(refused(made, tp), LagClosedError)
        assert "closed" in repr(made)
    with fetcher(fresh.bootstrap, fresh.group()) as made:
        made.close()  # before it was ever used
        assert isinstance(refused(made, tp), LagClosedError)


# --- several brokers ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_missing_broker_leaves_other_lags_known() -> None:
    """Its partitions have no leader.  The other lags arrive, and the deadline holds."""
    with development_broker("jars") as broker:
        names = InZones(broker.bootstrap)
        group_id = names.group()
        (first,) = FreshNames(broker.bootstrap).topics(1)
        commit(broker.bootstrap, group_id, {TopicPartition(first, 0): 0})  # so that broker 1 has the commits
        with fetcher(broker.bootstrap, group_id) as made:
            with one_more_broker(broker, "b"):
                wait_until_seen(broker.bootstrap, {1: None, 2: "b"})
                topic = names.topic(4)
                tps = [TopicPartition(topic, p) for p in range(4)]
                write(broker.bootstrap, dict.fromkeys(tps, 2))
                assert made.fetch(tps, AMPLE_MS).lags == dict.fromkeys(tps, 2)
            until(lambda: len(leaderless(broker.bootstrap, topic)) == 2)
            started = time.monotonic()
            reading = made.fetch(tps, 2 * SHORT_MS)
            assert time.monotonic() - started < 2 * SHORT_MS / 1000 + SLACK_S
            assert reading.lags == {tps[0]: 2, tps[2]: 2}
            assert set(reading.missing) == {tps[1], tps[3]}
            assert set(reading.missing.values()) == {"LeaderNotAvailable"}
        broker.stop()
        with fetcher(broker.bootstrap, group_id) as made:
            assert isinstance(refused(made, tps[0]), LagUnreachableError)
