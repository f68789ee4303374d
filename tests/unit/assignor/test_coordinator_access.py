"""Pins the private parts of kafka-python that we rely on, on real consumers."""

from __future__ import annotations

import logging
import socket
import threading
import time
import weakref
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import IsolationLevel, KafkaProducer
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.base import Generation
from kafka.errors import FencedInstanceIdError, KafkaTimeoutError, NoError, RebalanceInProgressError
from kafka.future import Future
from kafka.protocol.consumer.group import JoinGroupResponse, SyncGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment
from kafka.protocol.metadata import FindCoordinatorResponse
from kafka.structs import MemberState, TopicPartition

from kafka_assignors import (
    Assignor,
    ConfigurationError,
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FairestStickyAssignor,
    RangeAssignor,
    make_continuous,
)
from kafka_assignors.assignor import convert
from kafka_assignors.assignor.coordinator_access.consumer import (
    drop_exhausted_batch,
    heartbeat_age_s,
    is_closing,
    is_fenced,
    poll_age_s,
    replicas,
    request_rejoin,
    runs_cooperative,
    stable_heartbeat_at,
    static_member_id,
    stop_producer,
    timeouts,
    wait_for_job,
)
from kafka_assignors.assignor.coordinator_access.metrics import consumer_recorder
from kafka_assignors.assignor.coordinator_access.responses import unfold_assignments
from kafka_assignors.background import Background
from kafka_assignors.errors import CodecError
from kafka_assignors.plan.cause import Cause
from kafka_assignors.strategies import STRATEGIES
from kafka_assignors.wire import budget, lag_user_data
from tests.support.group.joining import answer, cluster, own
from tests.support.logged import ours
from tests.support.waiting import until
from tests.unit.conftest import MakeConsumer


def sent(made: Any, name: str = "cooperative-sticky") -> Any:
    """Return the subscription in the coordinator's JoinGroup request."""
    return dict(made._coordinator.group_protocols())[name]


def subscribed(consumer: MakeConsumer, *strategies: Any, **config: Any) -> Any:
    """Make a consumer of ``t``, with cooperative-sticky by default."""
    made = consumer(*(strategies or [CooperativeStickyAssignor]), **config)
    made.subscribe(["t"])
    return made


@pytest.fixture
def made(consumer: MakeConsumer) -> Any:
    """A consumer of ``t`` with cooperative-sticky."""
    return subscribed(consumer)


def only_assignor(made: Any) -> Any:
    (assignor,) = made._coordinator._assignors.values()
    return assignor


@pytest.fixture
def access(made: Any) -> Any:
    """How the strategy of that consumer reads it, after a first join."""
    sent(made)
    return only_assignor(made)._access


def settle(coordinator: Any) -> None:
    """Make the consumer a member in generation 5, which needs no join."""
    coordinator._generation, coordinator.state = Generation(5, "m", "cooperative-sticky"), MemberState.STABLE


def hold(made: Any, *partitions: int, generation: int = 5) -> None:
    """Give consumer and assignor an assignment, as a join does."""
    made._subscription.assign_from_subscribed([TopicPartition("t", p) for p in partitions])
    for assignor in made._coordinator._assignors.values():
        if isinstance(assignor, Assignor):
            own(assignor, {"t": partitions}, generation)


@pytest.mark.parametrize("kind", [CooperativeStickyAssignor, FairestStickyAssignor])
def test_single_cooperative_strategy_sends_owned_partitions(
    kind: type[Assignor], consumer: MakeConsumer
) -> None:
    made = subscribed(consumer, kind)
    hold(made, 1, 2)
    assert runs_cooperative(made)
    subscription = sent(made, kind.name)
    assert convert.owned_in(subscription) == {"t": [1, 2]}
    assert subscription.generation_id == 5


@pytest.mark.parametrize("eager", [RangeAssignor, RangePartitionAssignor])
@pytest.mark.parametrize("kind", [CooperativeStickyAssignor, FairestStickyAssignor])
def test_cooperative_strategy_beside_an_eager_one_sends_history_only(
    kind: type[Assignor], eager: Any, consumer: MakeConsumer
) -> None:
    """The consumer runs eager, so it has revoked its partitions; the history keeps them in place."""
    made = subscribed(consumer, kind, eager)
    hold(made, 1, 2)
    assert not runs_cooperative(made)
    subscription = sent(made, kind.name)
    assert convert.owned_in(subscription) == {}
    owned, generation, *_ = kind().decode_user_data(bytes(subscription.user_data))
    assert (dict(owned), generation) == ({"t": [1, 2]}, 5)


def test_member_that_lost_its_membership_claims_nothing(made: Any) -> None:
    """kafka-python notifies the consumer, not the assignor; a claim would keep partitions from others."""
    hold(made, 1, 2)
    made._coordinator.reset_generation()
    made._net.run(made._coordinator._on_join_prepare_async, -1, "")
    assert convert.owned_in(sent(made)) == {}


def test_member_that_lost_its_membership_reports_no_lag(consumer: MakeConsumer) -> None:
    """The leader would complain of lag of partitions that are not the member's."""
    made = consumer(CooperativeLagAwareAssignor.configured(lag_source=lambda tps: dict.fromkeys(tps, 5)))
    made.subscribe(["t"])
    hold(made, 1, 2)
    assignor, name = only_assignor(made), "cooperative-lag-aware"
    assignor._open_keeper().keep([TopicPartition("t", 1), TopicPartition("t", 2)])
    until(lambda: assignor._keeper.report()[0])
    assert assignor.decode_user_data(bytes(sent(made, name).user_data)).lags.keys() == {("t", 1), ("t", 2)}
    made._coordinator.reset_generation()
    made._net.run(made._coordinator._on_join_prepare_async, -1, "")
    assert assignor.decode_user_data(bytes(sent(made, name).user_data)).lags == {}


def test_each_assignor_finds_its_own_consumer(consumer: MakeConsumer) -> None:
    first, other = consumer(CooperativeStickyAssignor), consumer(CooperativeStickyAssignor, RangeAssignor)
    for made in (first, other):
        made.subscribe(["t"])
        hold(made, 1)
    assert convert.owned_in(sent(first)) == {"t": [1]}
    assert convert.owned_in(sent(other)) == {}


def test_unknown_kafka_python_is_not_asked_to_rejoin(
    made: Any, access: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The consumer works on without what needs these private parts."""
    monkeypatch.setattr(access, "is_unknown_version", lambda: True)
    monkeypatch.setattr(made._coordinator, "_net", None)
    monkeypatch.setattr(made._coordinator, "request_rejoin", None)
    only_assignor(made).metadata(["t"])
    access.request_rejoin_after(1)
    access.request_rejoin_with_metadata()


def test_request_rejoin_makes_the_consumer_rejoin(made: Any) -> None:
    """kafka-python has no public call for it."""
    for request in (only_assignor(made)._access.request_rejoin, partial(request_rejoin, made)):
        made._coordinator.rejoin_needed = False
        request()
        assert made._coordinator.rejoin_needed


unless_a_round_began = pytest.mark.parametrize(
    ("generation", "asks"), [(5, True), (6, False)], ids=["nothing happened", "a round began"]
)


def in_generation_5(consumer: MakeConsumer) -> tuple[Any, Any, Any]:
    """Return a consumer that needs no rejoin, its coordinator and its assignor."""
    made = consumer(CooperativeStickyAssignor)
    coordinator = made._coordinator
    assignor = only_assignor(made)
    coordinator._generation = Generation(5, "m", "cooperative-sticky")
    coordinator.rejoin_needed = False
    return made, coordinator, assignor


@unless_a_round_began
def test_delayed_rejoin_is_requested_unless_a_round_began_meanwhile(
    generation: int, asks: bool, consumer: MakeConsumer
) -> None:
    """A round that began meanwhile is the one that was waited for."""
    made, coordinator, assignor = in_generation_5(consumer)

    async def schedule() -> None:
        assignor._access.request_rejoin_after(0.01)
        coordinator._generation = Generation(generation, "m", "cooperative-sticky")

    made._net.run(schedule)
    made._net.run(made._net.sleep, 0.05)
    assert coordinator.rejoin_needed is asks


def test_join_caused_by_metadata_survives_a_poll_timeout(consumer: MakeConsumer) -> None:
    """kafka-python 3.0 drops such a join if a poll times out during it."""
    made = subscribed(consumer, RangeAssignor)
    made._coordinator.rejoin_needed = False
    sent(made, "range")
    assert made._coordinator.rejoin_needed


def test_close_of_the_consumer_calls_back(made: Any) -> None:
    assert not is_closing(made)
    made.close()
    assert is_closing(made)


def test_assignor_does_not_keep_its_consumer_alive(consumer: MakeConsumer) -> None:
    """It refers to the coordinator weakly, as the coordinator refers to it."""
    assignor = only_assignor(consumer(CooperativeStickyAssignor))
    assert isinstance(assignor._access._coordinator, weakref.ref)


def test_assignor_without_a_consumer_offers_both_protocols() -> None:
    """It then sends its own last assignment."""
    assignor = CooperativeStickyAssignor()
    own(assignor, {"t": [3]}, 2)
    assert convert.owned_in(assignor.metadata({"t"})) == {"t": [3]}
    assert assignor.supported_protocols() == [RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER]


@pytest.mark.parametrize(
    "part", ["_rebalance_protocol", "_subscription", "_generation", "_net", "_assignors"]
)
def test_unknown_kafka_python_gets_one_protocol(part: str, made: Any) -> None:
    """So that a mixed list is refused."""
    coordinator, assignor = made._coordinator, only_assignor(made)
    kept = vars(coordinator).pop(part)
    assert assignor.supported_protocols() == [RebalanceProtocol.COOPERATIVE]
    setattr(coordinator, part, kept)


def test_one_instance_in_two_consumers_is_refused(consumer: MakeConsumer) -> None:
    """It would claim in one group the partitions of the other."""
    instance = CooperativeStickyAssignor()
    consumer(instance)
    with pytest.raises(ConfigurationError, match="this instance belongs to another consumer; pass the class"):
        consumer(instance)


def test_join_that_never_took_effect_does_not_date_claims(made: Any) -> None:
    """kafka-python drops a join that ends between two polls, and joins again with its earlier assignment."""
    hold(made, 1, generation=5)
    made._coordinator._generation = Generation(6, "m", "cooperative-sticky")
    assert sent(made).generation_id == 5


@pytest.mark.parametrize("eager", [RangeAssignor, RangePartitionAssignor])
def test_assignment_of_another_strategy_counts_as_history(eager: Any, consumer: MakeConsumer) -> None:
    """So that a switch from range to cooperative-sticky keeps partitions in place."""
    made = subscribed(consumer, CooperativeStickyAssignor, eager)
    made._subscription.assign_from_subscribed([TopicPartition("t", 4)])
    made._coordinator._generation = Generation(7, "m", "range")
    subscription = sent(made)
    owned, generation, *_ = CooperativeStickyAssignor().decode_user_data(bytes(subscription.user_data))
    assert (dict(owned), generation) == ({"t": [4]}, 7)


def test_replicas_are_read_from_the_metadata() -> None:
    """In the broker's order, without a call for each partition and broker."""
    known = cluster({"t": 3}, (None, None, None), {"t": [[2, 0], [1], []]})
    known.is_replica_node = None
    assert replicas(known, "t", 4) == [(2, 0), (1,), (), ()]
    assert replicas(known, "gone", 1) == [()]


def test_on_close_runs_before_close_returns(made: Any, access: Any) -> None:
    """The consumer's event loop ends, and cancels waiting coroutines."""
    done: list[str] = []
    access.on_close(lambda: done.append("closed"))
    assert not done
    made.close()
    assert done == ["closed"]


@pytest.mark.parametrize("level", ["read_committed", "read-committed", IsolationLevel.READ_COMMITTED])
def test_lag_ends_where_the_consumer_stops_reading(consumer: MakeConsumer, level: Any) -> None:
    """A consumer with ``read_committed`` has no backlog of an open transaction."""
    made = subscribed(consumer, CooperativeLagAwareAssignor, isolation_level=level)
    sent(made, "cooperative-lag-aware")
    assert only_assignor(made)._source()._fetcher._settings.isolation == 1


def test_config_has_the_connection_settings(made: Any, access: Any) -> None:
    config = access.config()
    for name in ("bootstrap_servers", "security_protocol", "client_id", "request_timeout_ms"):
        assert config[name] == made.config[name]
    assert (config["group_id"], config["auto_offset_reset"]) == ("g", "latest")
    assert access.session_timeout_s() == made.config["session_timeout_ms"] / 1000
    assert access.max_poll_interval_s() == made.config["max_poll_interval_ms"] / 1000
    heartbeat_s = made.config["heartbeat_interval_ms"] / 1000
    assert timeouts(made) == (access.session_timeout_s(), access.max_poll_interval_s(), heartbeat_s)


def test_rejoin_can_be_requested_from_another_thread(made: Any, access: Any) -> None:
    coordinator = made._coordinator
    settle(coordinator)
    coordinator.rejoin_needed = False
    access.request_rejoin_threadsafe(Cause.FORECAST, 4)  # a rebalance later
    access.request_rejoin_threadsafe(Cause.SKEW, 5)
    until(lambda: coordinator.rejoin_needed)
    assert access.rejoin_causes == {Cause.SKEW}
    made.close()
    access.request_rejoin_threadsafe(Cause.SKEW, 5)  # the consumer is closed: no error


def test_access_without_a_consumer_answers_none() -> None:
    access = CooperativeStickyAssignor()._access
    assert (access.config(), access.member_id(), access.session_timeout_s()) == (None, None, None)
    access.on_close(lambda: None)
    access.request_rejoin_threadsafe(Cause.SKEW, 5)


def test_membership_age_counts_from_the_last_answered_heartbeat(made: Any) -> None:
    """It counts from the send time: an answer may wait while the process is suspended."""
    coordinator = made._coordinator
    assert heartbeat_age_s(made) is None, "it is in no group"
    settle(coordinator)
    assert heartbeat_age_s(made) == float("inf"), "it never heard of the group"
    coordinator.heartbeat.sent_heartbeat()
    assert heartbeat_age_s(made) == float("inf"), "there is no answer yet"
    coordinator.heartbeat.last_send -= 100
    coordinator.heartbeat.received_heartbeat()
    ago = heartbeat_age_s(made)
    assert ago is not None
    assert 100 <= ago < 200
    coordinator.state = MemberState.REBALANCING
    assert heartbeat_age_s(made) is None, "it joins"


def test_poll_age_counts_from_the_last_poll_or_coordinator_lookup(
    made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert poll_age_s(made) == float("inf")
    made._coordinator.poll_heartbeat()
    made._coordinator.heartbeat.last_poll -= 100
    assert 100 <= poll_age_s(made) < 200
    response = FindCoordinatorResponse(error_code=0, node_id=0, host="127.0.0.1", port=9, coordinators=[])
    monkeypatch.setattr(made._coordinator._client, "maybe_connect", lambda _: None)
    made._coordinator._handle_find_coordinator_response(response)
    assert poll_age_s(made) < 100, "a lookup of the coordinator counts as a poll"


def test_stable_heartbeat_is_the_last_one_answered_without_rebalance(made: Any) -> None:
    """It is None before the answer, and after an answer that reports a rebalance."""
    coordinator = made._coordinator
    beat = coordinator.heartbeat
    answer = [NoError]

    async def answered() -> None:
        response = SimpleNamespace(error_code=answer[0].errno)
        coordinator._handle_heartbeat_response(response, 0.0)

    coordinator._send_heartbeat_request = answered
    coordinator.rejoin_needed = False
    assert stable_heartbeat_at(made) is None, "it is in no group"
    settle(coordinator)
    made._net.run(coordinator._do_heartbeat)
    assert stable_heartbeat_at(made) == beat.last_send
    beat.sent_heartbeat()
    assert stable_heartbeat_at(made) is None, "there is no answer yet"
    answer[0] = RebalanceInProgressError
    made._net.run(coordinator._do_heartbeat)
    assert beat.last_receive >= beat.last_send, "this answer counts as received, too"
    assert stable_heartbeat_at(made) is None, "a rebalance is under way"
    coordinator.reset_generation()


def test_fenced_static_member_is_no_member(consumer: MakeConsumer) -> None:
    """kafka-python stops its heartbeats without notice; its state stays."""
    made = consumer(CooperativeStickyAssignor, group_instance_id="i")
    coordinator = made._coordinator
    settle(coordinator)
    coordinator._enable_heartbeat()
    assert not is_fenced(made)
    assert heartbeat_age_s(made) is not None
    assert static_member_id(made) == "m"

    async def fenced() -> None:
        raise FencedInstanceIdError

    coordinator._send_heartbeat_request = fenced
    made._net.run(coordinator._do_heartbeat)
    assert coordinator.generation_if_stable() is not None
    assert is_fenced(made)
    assert heartbeat_age_s(made) is None
    coordinator.rejoining = True
    assert not is_fenced(made), "a join stops heartbeats, too"


def test_dynamic_member_is_never_fenced(made: Any) -> None:
    made._coordinator.state = MemberState.STABLE
    assert not is_fenced(made)
    assert static_member_id(made) is None


def test_dropped_producer_sends_nothing_more() -> None:
    """Its own ``close`` raises if records are pending, and leaves the sender thread running."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        producer = KafkaProducer(bootstrap_servers=address, api_version=(2, 5))
        producer._accumulator.append(TopicPartition("t", 0), None, b"k", b"v", [])
        with pytest.raises(KafkaTimeoutError):
            producer.close(timeout=0)
        assert producer._sender.is_alive()
        stop_producer(producer, 60.0)
        assert not producer._sender.is_alive()
        producer.close(timeout=0)


def test_batch_read_to_its_end_is_forgotten(made: Any) -> None:
    """Else kafka-python never returns to a batch of a partition that was paused; a begun batch stays."""
    assert {"_next_partition_records", "_paused_partition_records"} <= vars(made._fetcher).keys()
    for batch, kept in (([], None), (["unread"], ["unread"])):
        made._fetcher._next_partition_records = batch
        drop_exhausted_batch(made)
        assert made._fetcher._next_partition_records == kept
    made._fetcher._next_partition_records = None


def test_waiting_for_a_job_does_not_block_the_loop(made: Any) -> None:
    """Otherwise no heartbeat would be sent meanwhile."""
    may_end, turned = threading.Event(), threading.Event()
    background = Background("test-job")
    job = background.submit(may_end.wait)

    async def turn() -> None:
        turned.set()
        may_end.set()

    made._net.call_soon_threadsafe(turn)
    made._net.run(wait_for_job, made, job)
    assert turned.is_set()
    assert job.done()
    background.stop()


# --- state read by a leader and by a static member ----------------------------------------------------------


def test_leader_id_comes_from_the_join_response(made: Any, access: Any) -> None:
    """kafka-python drops it.  A group of the new protocol has no leader (KIP-848)."""
    coordinator = made._coordinator
    assert access.leader_id() is None
    for leader in ("m0", ""):
        coordinator.state = MemberState.REBALANCING
        response = JoinGroupResponse(
            version=5, error_code=0, generation_id=3, protocol_name="x", leader=leader, member_id="m1"
        )
        assert coordinator._process_join_group_response(response, time.monotonic()) is response
        assert access.leader_id() == leader
    assert coordinator._generation.member_id == "m1"
    coordinator.state = MemberState.UNJOINED


def test_synced_generation_comes_from_an_answer_without_an_error(made: Any, access: Any) -> None:
    coordinator = made._coordinator
    assert access.synced_generation() is None
    coordinator._generation = Generation(3, "m1", "x")
    answer_to_sync = SyncGroupResponse(version=3, error_code=0, assignment=b"part")
    assert coordinator._process_sync_group_response(answer_to_sync, time.monotonic()) == b"part"
    assert access.synced_generation() == 3
    coordinator._generation = Generation(4, "m1", "x")
    failed = SyncGroupResponse(version=3, error_code=RebalanceInProgressError.errno, assignment=b"")
    with pytest.raises(RebalanceInProgressError):
        coordinator._process_sync_group_response(failed, time.monotonic())
    assert access.synced_generation() == 3


def test_metadata_update_under_way_does_not_answer_a_new_request(made: Any, access: Any) -> None:
    """It may have been requested for other topics."""
    metadata = made._coordinator._cluster
    before = time.monotonic()
    metadata.update_metadata(answer({"t": 3}))
    assert access.metadata_updated_at() >= before
    assert before <= access.metadata_response_at() <= time.monotonic()
    metadata._refresh_future = Future()
    assert access.metadata_response_at() == float("inf")
    metadata._refresh_future = None


def test_metadata_update_calls_back_with_its_partition_counts(made: Any, access: Any) -> None:
    made.subscribe(["t", "gone"])
    listed: list[dict[str, int]] = []
    access.on_metadata_update(lambda: listed.append(access.partition_counts()))
    for count in (3, 5):
        made._coordinator._cluster.update_metadata(answer({"t": count, "u": 1}))
    assert listed == [{"t": 3}, {"t": 5}]


@unless_a_round_began
def test_rejoin_with_metadata_is_requested_after_the_update(
    generation: int, asks: bool, consumer: MakeConsumer
) -> None:
    _, coordinator, assignor = in_generation_5(consumer)
    assignor._access.request_rejoin_with_metadata()
    assert not coordinator.rejoin_needed
    coordinator._generation = Generation(generation, "m", "cooperative-sticky")
    coordinator._cluster.update_metadata(answer({"t": 3}))
    assert coordinator.rejoin_needed is asks


def test_settled_generation_is_none_while_a_join_is_due(consumer: MakeConsumer) -> None:
    made = subscribed(consumer, group_instance_id="i")
    coordinator = made._coordinator
    assignor = only_assignor(made)
    coordinator._generation = Generation(5, "m", "cooperative-sticky")
    sent(made)
    coordinator.state = MemberState.STABLE
    assert assignor._access.settled_generation() is None
    coordinator.rejoin_needed = False
    assert assignor._access.settled_generation() == 5
    coordinator.state = MemberState.UNJOINED
    assert assignor._access.settled_generation() is None
    assert assignor._access.instance_id() == "i"


@pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)
def test_rejoin_of_a_static_member_sends_other_bytes(kind: type[Assignor], consumer: MakeConsumer) -> None:
    """A broker starts no rebalance for a non-leader that joins with the same bytes."""
    made = subscribed(consumer, kind, group_instance_id="i")
    joins = [sent(made, kind.name).encode()]
    for generation in (5, 6):
        hold(made, 1, generation=generation)
        made._coordinator._generation = Generation(generation, "m", kind.name)
        joins.append(sent(made, kind.name).encode())
        assert sent(made, kind.name).encode() == joins[-1]
    assert len(set(joins)) == 3


def test_consumer_and_its_strategies_have_one_recorder(consumer: MakeConsumer) -> None:
    made = consumer(RangeAssignor)
    recorder = consumer_recorder(made)
    assert recorder is made._coordinator._assignors["range"]._access.recorder
    recorder.add_gauge("g", "copy-lag", lambda _now_ms: 7)
    assert made.metrics()["g"] == {"copy-lag": 7}
    assert not consumer_recorder(consumer(RangeAssignor, metrics_enabled=False)).is_enabled


def synced(made: Any, listed: list[tuple[str, list[int]]], user_data: bytes) -> list[int]:
    """Answer SyncGroup with this assignment; return the partitions that kafka-python decodes."""
    assignment = ConsumerProtocolAssignment(0, listed, user_data).encode()
    response = SimpleNamespace(error_code=0, protocol_type=None, protocol_name=None, assignment=assignment)
    plain = made._coordinator._process_sync_group_response(response, time.monotonic())
    return [tp.partition for tp in ConsumerProtocolAssignment.decode(plain).partitions()]


@pytest.mark.parametrize("metrics_enabled", [True, False])
@pytest.mark.parametrize("is_continuous", [True, False])
def test_assignment_in_user_data_is_unfolded(
    is_continuous: bool, metrics_enabled: bool, consumer: MakeConsumer
) -> None:
    """Before kafka-python decodes it, and metrics are recorded as before."""
    made = subscribed(consumer, CooperativeLagAwareAssignor, metrics_enabled=metrics_enabled)
    assert not is_continuous or make_continuous(made)
    subscription = sent(made, "cooperative-lag-aware")
    assert lag_user_data.decode(subscription.user_data).reads_budget
    assert synced(made, [], budget.encode(budget.MemberBudget(9, {"t": [1, 3]}))) == [1, 3]


def test_assignment_with_an_unreadable_budget_keeps_its_listed_partitions(
    consumer: MakeConsumer, caplog: pytest.LogCaptureFixture
) -> None:
    """kafka-python catches only its own errors, so ``poll()`` would raise in every rebalance."""
    made = subscribed(consumer, CooperativeLagAwareAssignor)
    sent(made, "cooperative-lag-aware")
    assert synced(made, [("t", [1])], budget.encode(budget.MemberBudget(7))[:-3]) == [1]
    assert ours(caplog, logging.WARNING) == [
        "assignment: unreadable user data (budget: needs 4 bytes at 5, has 1): using the partitions it lists"
    ]


def test_unreadable_budget_of_an_assignment_that_lists_nothing_is_an_error(
    consumer: MakeConsumer,
) -> None:
    """Its partitions may be in the budget: without an error no member would read them."""
    made = subscribed(consumer, CooperativeLagAwareAssignor)
    sent(made, "cooperative-lag-aware")
    with pytest.raises(CodecError):
        synced(made, [], budget.encode(budget.MemberBudget(9, {"t": [1, 3]}))[:-3])


def test_coordinator_without_a_known_answer_of_sync_reads_no_budgets() -> None:
    unknown: Any = SimpleNamespace()
    assert not unfold_assignments(unknown)
    assert not vars(unknown)


@pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)
def test_rack_is_the_consumers_client_rack_by_default(kind: type[Assignor], consumer: MakeConsumer) -> None:
    """The coordinator gets it as an argument and does not keep it; the option comes first."""
    cases: list[tuple[dict[str, str], str | None, str | None]] = [
        ({}, "zone-a", "zone-a"),
        ({"rack": "zone-b"}, "zone-a", "zone-b"),
        ({}, "", None),
        ({}, None, None),
    ]
    for options, client_rack, rack in cases:
        made = subscribed(consumer, kind.configured(**options), client_rack=client_rack)
        assert sent(made, kind.name).rack_id == rack


def test_client_rack_of_an_instance_in_a_mixed_list_is_found(consumer: MakeConsumer) -> None:
    instance = CooperativeStickyAssignor()
    subscribed(consumer, RangePartitionAssignor, instance, client_rack="zone-a")
    assert instance._access.client_rack() == "zone-a"
    assert CooperativeStickyAssignor()._access.client_rack() is None
