"""Which consumers `make_continuous` changes."""

from __future__ import annotations

import inspect
import logging
import tokenize
from typing import Any

import pytest
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.coordinator.heartbeat import Heartbeat
from kafka.structs import MemberState

from kafka_assignors import CooperativeStickyAssignor, RangeAssignor, make_continuous
from kafka_assignors.consumer.continuous import known_parts
from kafka_assignors.consumer.continuous.coordinator import ContinuousCoordinator
from kafka_assignors.consumer.continuous.membership import EarlyHeartbeat
from tests.support.logged import ours
from tests.unit.conftest import MakeConsumer


@pytest.mark.parametrize(("strategy", "group_id"), [(RangeAssignor, "g"), (CooperativeStickyAssignor, None)])
def test_eager_consumers_and_those_without_a_group_keep_their_coordinator(
    strategy: type, group_id: str | None, consumer: MakeConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = consumer(strategy)
    monkeypatch.setitem(made._coordinator.config, "group_id", group_id)
    assert not make_continuous(made)
    assert type(made._coordinator) is ConsumerCoordinator


def test_a_coordinator_of_another_class_is_left_alone(consumer: MakeConsumer) -> None:
    class Own(ConsumerCoordinator):  # type: ignore[misc]
        pass

    made = consumer(CooperativeStickyAssignor)
    made._coordinator.__class__ = Own
    assert not make_continuous(made)
    assert type(made._coordinator) is Own


@pytest.mark.parametrize("state", [MemberState.REBALANCING, MemberState.STABLE])
def test_consumer_that_has_polled_keeps_its_coordinator(
    state: MemberState, consumer: MakeConsumer, caplog: pytest.LogCaptureFixture
) -> None:
    made = consumer(CooperativeStickyAssignor)
    made._coordinator.state = state
    with caplog.at_level(logging.WARNING, "kafka_assignors"):
        assert not make_continuous(made)
    assert type(made._coordinator) is ConsumerCoordinator
    assert "has polled already" in caplog.text
    made._coordinator.state = MemberState.UNJOINED


def test_make_continuous_twice_is_fine(consumer: MakeConsumer) -> None:
    made = consumer(CooperativeStickyAssignor)
    assert make_continuous(made)
    join = made._coordinator._join
    assert make_continuous(made)
    assert made._coordinator._join is join


def test_poll_returns_to_partitions_that_were_paused(
    consumer: MakeConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kafka-python alone never does while a batch that was read to its end is the current one."""
    made = consumer(CooperativeStickyAssignor)
    assert make_continuous(made)
    monkeypatch.setattr(type(made), "_poll_once", lambda *_args, **_kwargs: {})
    made._fetcher._next_partition_records = []
    made.poll()
    assert made._fetcher._next_partition_records is None


def test_installed_kafka_python_is_known() -> None:
    """Every method that the coordinator overrides, repeats or calls has the source we know."""
    assert known_parts.unknown_parts() == ()


def test_unknown_kafka_python_keeps_its_own_poll_with_one_warning(
    consumer: MakeConsumer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def join_group_async(self: Any, timeout_ms: Any = None) -> bool:
        return False

    monkeypatch.setattr("kafka.coordinator.base.BaseCoordinator.join_group_async", join_group_async)
    known_parts.unknown_parts.cache_clear()
    try:
        made = consumer(CooperativeStickyAssignor)
        with caplog.at_level(logging.WARNING, "kafka_assignors"):
            assert not make_continuous(made)
        assert type(made._coordinator) is ConsumerCoordinator
        assert not make_continuous(consumer(RangeAssignor))
    finally:
        known_parts.unknown_parts.cache_clear()
    (line,) = ours(caplog)
    assert line.startswith("kafka-python 3.0.12 is unknown (differs in BaseCoordinator)")


def test_kafka_python_with_moved_names_keeps_its_own_poll(
    consumer: MakeConsumer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = consumer(CooperativeStickyAssignor)
    monkeypatch.delattr("kafka.structs.MemberState")
    with caplog.at_level(logging.WARNING, "kafka_assignors"):
        assert not make_continuous(made)
    (line,) = ours(caplog)
    assert "cannot import name 'MemberState'" in line


def test_missing_method_has_no_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ConsumerCoordinator, "poll")
    assert known_parts.part_digest(ConsumerCoordinator, "poll") == ""


def test_source_that_was_replaced_on_disk_has_no_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """An upgrade of kafka-python under a running process leaves the old lines in the middle of new ones."""

    def getsource(_part: object) -> str:
        raise tokenize.TokenError("EOF in multi-line string")

    monkeypatch.setattr(inspect, "getsource", getsource)
    assert known_parts.part_digest(ConsumerCoordinator, "poll") == ""


def test_every_overridden_method_is_pinned() -> None:
    """A method that ours overrides and the digests leave out could change unseen."""
    pinned = {name for _, methods in known_parts._KNOWN.values() for name in methods.split()}
    overridden = {
        name
        for ours, theirs in ((ContinuousCoordinator, ConsumerCoordinator), (EarlyHeartbeat, Heartbeat))
        for part in ours.__mro__[: ours.__mro__.index(theirs)]
        for name, value in vars(part).items()
        if inspect.isfunction(value) and hasattr(theirs, name)
    }
    assert {"join_group_async", "time_to_next_heartbeat"} <= overridden <= pinned
