"""A broker that loads its groups accepts every heartbeat, also those of a former member."""

from __future__ import annotations

import math
import struct
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from kafka import KafkaProducer
from kafka.errors import CoordinatorLoadInProgressError, NoError, RetriableError
from kafka.protocol.consumer import HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse

from kafka_assignors import ContinuousConsumer
from kafka_assignors.assignor.coordinator_access.consumer import heartbeat_age_s
from tests.integration.chaos.restartable_broker import RestartableBroker
from tests.integration.conftest import FreshNames
from tests.integration.groups.continuous.polled import Polled, owned, settings
from tests.support.waiting import until

PARTITIONS = 4
SESSION_MS = 3000

pytestmark = pytest.mark.usefixtures("muted_kafka")


class LoadingCoordinator:
    """Answers as a group coordinator that still loads its partition of ``__consumer_offsets``.

    Kafka's ``GroupCoordinatorService`` then accepts the heartbeats of any member, and refuses JoinGroup.

    Attributes:
        answered: number of answers by API key.
    """

    def __init__(self) -> None:
        self.answered: Counter[int] = Counter()

    def __call__(self, request: bytes) -> bytes | None:
        """Return the answer to a request; None to all others."""
        key, version, correlation_id = struct.unpack_from(">hhi", request)
        if key == HeartbeatRequest.API_KEY:
            answer = HeartbeatResponse(version=version, error_code=NoError.errno)
        elif key == JoinGroupRequest.API_KEY:
            answer = JoinGroupResponse(version=version, error_code=CoordinatorLoadInProgressError.errno)
        else:
            return None
        self.answered[key] += 1
        answer.with_header(correlation_id=correlation_id)
        return bytes(answer.encode(header=True, framed=True))


class Patient(Polled):
    """Polls on when kafka-python reports that it has no broker."""

    def poll(self) -> bool:
        """Poll once."""
        with suppress(RetriableError):
            return super().poll()
        return False


def test_former_member_joins_again_although_its_heartbeats_are_accepted(tmp_path: Path) -> None:
    """It was cut off for a session, and another member owns its partitions."""
    with RestartableBroker(tmp_path, proxies=1) as broker, ExitStack() as stack:
        (proxy,), (address,) = broker.proxies, broker.addresses
        names = FreshNames(broker.bootstrap)
        topic = names.topic(PARTITIONS)
        config = settings(names, names.group())
        config |= {"session_timeout_ms": SESSION_MS, "reconnect_backoff_max_ms": 500}
        producer = stack.enter_context(KafkaProducer(bootstrap_servers=broker.bootstrap))

        def send() -> None:
            for partition in range(PARTITIONS):
                producer.send(topic, b"x", partition=partition)
            producer.flush()

        former = stack.enter_context(ContinuousConsumer(topic, **config | {"bootstrap_servers": address}))
        other = stack.enter_context(ContinuousConsumer(topic, **config))
        former_polled = stack.enter_context(Patient(former, commits=False))
        other_polled = stack.enter_context(Patient(other, commits=False))
        until(lambda: len(owned(former)) == len(owned(other)) == PARTITIONS // 2, "two members")
        send()
        until(lambda: len(former_polled.seen + other_polled.seen) == PARTITIONS, "the first records")
        proxy.mode = "shut"
        until(lambda: len(owned(other)) == PARTITIONS, "the other member to own all")
        send()
        until(lambda: len(other_polled.seen) == 2 * PARTITIONS, "it to read all")
        coordinator = LoadingCoordinator()
        proxy.reply, proxy.mode = coordinator, "pass"
        until(lambda: coordinator.answered[JoinGroupRequest.API_KEY], "the former member to join again")
        beats = coordinator.answered[HeartbeatRequest.API_KEY]
        until(lambda: coordinator.answered[HeartbeatRequest.API_KEY] > beats + 2, "heartbeats in the join")
        assert heartbeat_age_s(former) in {None, math.inf}
        assert {offset for _, offset in former_polled.seen} == {0}
        proxy.reply = None
        until(lambda: len(owned(former)) == len(owned(other)) == PARTITIONS // 2, "two members again")
